import { compactVerify, createLocalJWKSet, errors, type JWK, SignJWT } from 'jose';
import { type Db, tables } from '../../db/kysely.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import { TICKET_ALGORITHM, type TicketClaims } from '../../lib/ticket-claims.ts';
import {
  insertSigningKey,
  lockSigningKeys,
  PUBLISHED_FIRST_MS,
  type RatedKey,
  REREAD_MS,
  rateKeys,
  readSigningKeys,
  type SigningKeyRow,
} from './signing-key-rows.ts';
import { createKeyVault, type KeyLogger } from './signing-key-vault.ts';

type Deps = {
  /** A fork that only the signing keys use. */
  em: Db;
  secretKey: string;
  clock: Clock;
  logger: KeyLogger;
  signingKeyDays: number;
};

export type SigningKeys = ReturnType<typeof createSigningKeys>;

/**
 * The keys that sign tickets, kept in memory for at most 30 seconds. A new key signs only when each cache of the published keys
 * has it.
 */
export const createSigningKeys = ({ em, secretKey, clock, logger, signingKeyDays }: Deps) => {
  const vault = createKeyVault(secretKey, logger);
  let known: { rows: SigningKeyRow[]; readAt: number } | null = null;

  const rate = (rows: readonly SigningKeyRow[]): RatedKey[] => rateKeys(rows, clock.now(), vault.canOpen);
  const add = async (tx: Db, signsFrom: Date): Promise<string> => {
    const row = { ...(await vault.create()), created_at: clock.now(), signs_from: signsFrom };
    await insertSigningKey(tx, row);
    known = null;
    return row.id;
  };
  /** One of several instances that start together creates the first key. */
  const addFirst = (): Promise<void> =>
    em.fork().transactional(async (tx) => {
      await lockSigningKeys(tx);
      if (!(await readSigningKeys(tx)).some(vault.canOpen)) await add(tx, clock.now());
    });
  const readRows = async (): Promise<SigningKeyRow[]> => {
    const rows = await readSigningKeys(em);
    if (rows.some(vault.canOpen)) return rows;
    await addFirst();
    return readSigningKeys(em);
  };
  const currentKeys = async (): Promise<RatedKey[]> => {
    const now = clock.now().getTime();
    // The clock may have been set back.
    if (known === null || Math.abs(now - known.readAt) >= REREAD_MS) {
      known = { rows: await readRows(), readAt: now };
    }
    return rate(known.rows);
  };
  const publishedKeys = async () => ({
    keys: (await currentKeys()).filter(({ isPublished }) => isPublished).map((row): JWK => row.public_key),
  });

  return {
    publishedKeys,

    sign: async (claims: TicketClaims): Promise<string> => {
      const signing = (await currentKeys()).find(({ state }) => state === 'signing');
      if (!signing) throw new Error('no key signs');
      const header = { alg: TICKET_ALGORITHM, kid: signing.id, typ: 'JWT' };
      return new SignJWT(claims).setProtectedHeader(header).sign(await vault.open(signing));
    },

    /** The claims of a ticket with a valid signature, or null. Checks neither its time nor its audience. */
    readSigned: async (ticket: string): Promise<TicketClaims | null> => {
      const verify = async () =>
        compactVerify(ticket, createLocalJWKSet(await publishedKeys()), { algorithms: [TICKET_ALGORITHM] });
      const retryWithNewKeys = (error: unknown) => {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        known = null;
        return verify();
      };
      const [verified] = await Promise.allSettled([verify().catch(retryWithNewKeys)]);
      if (verified.status === 'rejected') {
        if (verified.reason instanceof errors.JOSEError) return null;
        throw verified.reason;
      }
      // Nothing else is signed with these keys.
      return JSON.parse(new TextDecoder().decode(verified.value.payload)) as TicketClaims;
    },

    list: async (tx: Db): Promise<RatedKey[]> => rate(await readSigningKeys(tx)),

    /**
     * Adds a key, unless there is one that does not sign yet.
     * @returns the id of the key that will sign, and whether it is new
     */
    rotate: async (tx: Db) => {
      await lockSigningKeys(tx);
      const keys = rate(await readSigningKeys(tx));
      const pending = keys.find(({ state }) => state === 'pending');
      if (pending) return { id: pending.id, isNew: false };
      const delayMs = keys.some(({ state }) => state === 'signing') ? PUBLISHED_FIRST_MS : 0;
      return { id: await add(tx, new Date(clock.now().getTime() + delayMs)), isNew: true };
    },

    isRotationDue: async (tx: Db): Promise<boolean> => {
      await lockSigningKeys(tx);
      const newest = (await readSigningKeys(tx)).find(vault.canOpen);
      const bornAfter = clock.now().getTime() - signingKeyDays * DAY_MS;
      return newest !== undefined && newest.created_at.getTime() <= bornAfter;
    },

    /** Deletes keys whose last ticket has expired. */
    prune: async (tx: Db): Promise<void> => {
      const retired = rate(await readSigningKeys(tx)).filter(({ isPublished }) => !isPublished);
      if (retired.length === 0) return;
      const ids = retired.map(({ id }) => id);
      await tables(tx).deleteFrom('signing_keys').where('id', 'in', ids).execute();
    },

    /** Creates the first key. */
    ensure: async (): Promise<void> => {
      await currentKeys();
    },
  };
};
