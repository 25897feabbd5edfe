import {
  type CryptoKey,
  calculateJwkThumbprint,
  compactVerify,
  createLocalJWKSet,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  SignJWT,
} from 'jose';
import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import { createSealedBox, deriveKey } from '../../lib/sealed-box.ts';
import { MAX_TICKET_SECONDS, TICKET_ALGORITHM, type TicketClaims } from '../../lib/ticket-claims.ts';
import type { Actor } from '../access/actor.ts';
import type { Audit } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** The signing keys, for superusers. */
export const createKeyRotation = ({
  em,
  audit,
  signingKeys,
}: Pick<UnitOfWork, 'em' | 'audit' | 'signingKeys'>) => ({
  /** Newest first. */
  list: () => signingKeys.list(em),

  /**
   * Adds a key that will sign instead of the current one; if there is one already, returns it.
   * @param actor null for an operator
   */
  rotate: (actor: Actor | null) => em.transactional((tx) => signingKeys.rotate(tx, audit, actor)),
});

/** Creates the first key, adds a new one when the last is old enough, and deletes those whose last ticket has expired. */
export const maintainSigningKeys = async (em: Em, signingKeys: SigningKeys, audit: Audit): Promise<void> => {
  await signingKeys.publishedKeys();
  await em.transactional(async (tx) => {
    if (await signingKeys.isRotationDue(tx)) await signingKeys.rotate(tx, audit, null);
    await signingKeys.prune(tx);
  });
};

type Deps = {
  /** A fork that only the signing keys use. */
  em: Em;
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
  const add = async (tx: Em, signsFrom: Date): Promise<string> => {
    const key = await vault.create();
    await kysely(tx)
      .insertInto('signing_keys')
      .values({ ...key, created_at: clock.now(), signs_from: signsFrom })
      .execute();
    known = null;
    return key.id;
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
    /** As a JWK set. Creates the first key if there is none. */
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

    list: async (tx: Em): Promise<RatedKey[]> => rate(await readSigningKeys(tx)),

    /** Adds a key and returns it, unless there is one that does not sign yet. */
    rotate: async (tx: Em, audit: Audit, actor: Actor | null): Promise<RatedKey> => {
      await lockSigningKeys(tx);
      const keys = rate(await readSigningKeys(tx));
      const pending = keys.find(({ state }) => state === 'pending');
      if (pending) return pending;
      const delayMs = keys.some(({ state }) => state === 'signing') ? PUBLISHED_FIRST_MS : 0;
      const id = await add(tx, new Date(clock.now().getTime() + delayMs));
      await audit.record(tx, [{ action: 'signing-key.rotate', actor, target: id }]);
      const added = rate(await readSigningKeys(tx)).find((key) => key.id === id);
      if (!added) throw new Error('a new key is not in the list');
      return added;
    },

    isRotationDue: async (tx: Em): Promise<boolean> => {
      await lockSigningKeys(tx);
      const newest = (await readSigningKeys(tx)).find(vault.canOpen);
      const bornAfter = clock.now().getTime() - signingKeyDays * DAY_MS;
      return newest !== undefined && newest.created_at.getTime() <= bornAfter;
    },

    /** Deletes keys whose last ticket has expired. */
    prune: async (tx: Em): Promise<void> => {
      const retired = rate(await readSigningKeys(tx)).filter(({ isPublished }) => !isPublished);
      if (retired.length === 0) return;
      const ids = retired.map(({ id }) => id);
      await kysely(tx).deleteFrom('signing_keys').where('id', 'in', ids).execute();
    },
  };
};

/** How long others may cache the published keys. */
export const JWKS_MAX_AGE_SECONDS = 300;
/** The age at which an instance reads the keys again. */
const REREAD_MS = 30_000;
/** From its creation until a key signs. By then, each cache of the published keys has it. */
const PUBLISHED_FIRST_MS = JWKS_MAX_AGE_SECONDS * 1000 + REREAD_MS;
/** How far the clock of a verifier may be behind, twice the default tolerance. */
const VERIFIER_DELAY_MS = 60_000;
/** From the first signature of the next key until the last ticket of a key has expired. */
const LAST_TICKET_MS = REREAD_MS + MAX_TICKET_SECONDS * 1000 + VERIFIER_DELAY_MS;

type SigningKeyRow = {
  id: string;
  sealed_key: Uint8Array;
  public_key: Record<string, unknown>;
  created_at: Date;
  signs_from: Date;
};

/** `pending`: published, but does not sign yet. `retiring`: does not sign any more. `unreadable`: sealed with another secret key. */
type SigningKeyState = 'pending' | 'signing' | 'retiring' | 'retired' | 'unreadable';

export type RatedKey = SigningKeyRow & { state: SigningKeyState; isPublished: boolean };

/** Newest first. */
export const readSigningKeys = async (em: Em): Promise<SigningKeyRow[]> =>
  kysely(em)
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

/** Serializes changes of the keys by all instances, until the end of the transaction. */
const lockSigningKeys = async (tx: Em): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended('signing keys', 0))`.execute(kysely(tx));
};

type KeyLogger = { warn: (line: string) => unknown };

/** Creates, seals and opens private keys. */
export const createKeyVault = (secretKey: string, logger: KeyLogger) => {
  const box = createSealedBox(deriveKey(secretKey, 'steward signing keys'));
  /** By id; null if the key is sealed with another secret key. */
  const opened = new Map<string, JWK | null>();
  const imported = new Map<string, Promise<CryptoKey | Uint8Array>>();

  const unseal = ({ id, sealed_key: sealed }: SigningKeyRow): JWK | null => {
    const known = opened.get(id);
    if (known !== undefined) return known;
    const jwk = tryOpen(sealed, id);
    opened.set(id, jwk);
    if (jwk === null)
      logger.warn(`The signing key ${id} cannot be opened: it was created with another SECRET_KEY.`);
    return jwk;
  };
  const tryOpen = (sealed: Uint8Array, id: string): JWK | null => {
    try {
      return JSON.parse(box.open(sealed, id).toString('utf8')) as JWK; // as `create` seals it
    } catch (_sealedWithAnotherKey) {
      return null;
    }
  };

  return {
    canOpen: (row: SigningKeyRow): boolean => unseal(row) !== null,

    /** @throws Error if the key was sealed with another secret key */
    open: (row: SigningKeyRow): Promise<CryptoKey | Uint8Array> => {
      const jwk = unseal(row);
      if (jwk === null) throw new Error(`cannot open the signing key ${row.id}`);
      const key = imported.get(row.id) ?? importJWK(jwk, TICKET_ALGORITHM);
      imported.set(row.id, key);
      return key;
    },

    create: async () => {
      const { privateKey } = await generateKeyPair(TICKET_ALGORITHM, { extractable: true });
      const jwk = await exportJWK(privateKey);
      const { kty, crv, x, y } = jwk;
      const id = await calculateJwkThumbprint(jwk);
      return {
        id,
        sealed_key: box.seal(Buffer.from(JSON.stringify(jwk)), id),
        public_key: { kty, crv, x, y, kid: id, use: 'sig', alg: TICKET_ALGORITHM },
      };
    },
  };
};
