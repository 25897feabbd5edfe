import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { MAX_TICKET_SECONDS } from '../../lib/ticket-claims.ts';

/** How long others may cache the published keys. */
export const JWKS_MAX_AGE_SECONDS = 300;
/** The age at which an instance reads the keys again. */
export const REREAD_MS = 30_000;
/** From its creation until a key signs. By then, each cache of the published keys has it. */
export const PUBLISHED_FIRST_MS = JWKS_MAX_AGE_SECONDS * 1000 + REREAD_MS;
/** How far the clock of a verifier may be behind, twice the default tolerance. */
const VERIFIER_DELAY_MS = 60_000;
/** From the first signature of the next key until the last ticket of a key has expired. */
const LAST_TICKET_MS = REREAD_MS + MAX_TICKET_SECONDS * 1000 + VERIFIER_DELAY_MS;

export type SigningKeyRow = {
  id: string;
  sealed_key: Uint8Array;
  public_key: Record<string, unknown>;
  created_at: Date;
  signs_from: Date;
};

/** `pending`: published, but does not sign yet. `retiring`: does not sign any more. `unreadable`: sealed with another secret key. */
export type SigningKeyState = 'pending' | 'signing' | 'retiring' | 'retired' | 'unreadable';

export type RatedKey = SigningKeyRow & { state: SigningKeyState; isPublished: boolean };

/** Newest first. */
export const readSigningKeys = async (em: Db): Promise<SigningKeyRow[]> =>
  tables(em)
    .selectFrom('signing_keys')
    .select(['id', 'sealed_key', 'public_key', 'created_at', 'signs_from'])
    .orderBy('signs_from', 'desc')
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();

/** @param rows newest first */
export const rateKeys = (
  rows: readonly SigningKeyRow[],
  now: Date,
  canOpen: (row: SigningKeyRow) => boolean,
): RatedKey[] => {
  const signing = rows.find((row) => row.signs_from <= now && canOpen(row));
  return rows.map((row, index) => {
    const next = rows[index - 1];
    const isRetired = next !== undefined && now.getTime() > next.signs_from.getTime() + LAST_TICKET_MS;
    const stateOf = (): SigningKeyState => {
      if (row === signing) return 'signing';
      if (isRetired) return 'retired';
      if (!canOpen(row)) return 'unreadable';
      return row.signs_from > now ? 'pending' : 'retiring';
    };
    return { ...row, state: stateOf(), isPublished: row === signing || !isRetired };
  });
};

export const insertSigningKey = async (tx: Db, key: SigningKeyRow): Promise<void> => {
  const row = { ...key, sealed_key: Buffer.from(key.sealed_key) };
  await tables(tx).insertInto('signing_keys').values(row).execute();
};

/** Serializes changes of the keys by all instances, until the end of the transaction. */
export const lockSigningKeys = async (tx: Db): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended('signing keys', 0))`.execute(tables(tx));
};
