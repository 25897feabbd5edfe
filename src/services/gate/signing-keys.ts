import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, createLocalJWKSet, errors, type JWK, jwtVerify, SignJWT } from 'jose';
import { sql } from 'kysely';
import { KEY_PURPOSES, type KeyPurpose } from '../../../entities/ticket.ts';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import { createSealedBox, deriveKey } from '../../lib/sealed-box.ts';
import {
  MAX_TICKET_SECONDS,
  readClaims,
  TICKET_ALGORITHM,
  type TicketClaims,
} from '../../lib/ticket-claims.ts';
import type { Actor } from '../access/actor.ts';
import type { Audit } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** The signing keys, for superusers. */
export const createKeyRotation = ({
  em,
  audit,
  signingKeys,
}: Pick<UnitOfWork, 'em' | 'audit' | 'signingKeys'>) => ({
  /** By purpose, newest first. */
  list: async () => (await Promise.all(KEY_PURPOSES.map((purpose) => signingKeys[purpose].list(em)))).flat(),

  /**
   * For each purpose that has keys, adds one that will replace the current one for signing, unless one is already waiting. Returns the key
   * of tickets.
   * @param actor null for an operator
   */
  rotate: (actor: Actor | null) =>
    em.transactional(async (tx) => {
      for (const purpose of KEY_PURPOSES)
        if (purpose !== 'ticket' && (await signingKeys[purpose].list(tx)).length > 0)
          await signingKeys[purpose].rotate(tx, audit, actor);
      return signingKeys.ticket.rotate(tx, audit, actor);
    }),
});

export { KEY_PURPOSES };

type Deps = {
  /** A fork that only the signing keys use. */
  em: Em;
  secretKey: string;
  clock: Clock;
  logger: { warn: (line: string) => unknown };
  signingKeyDays: number;
};

export type SigningKeys = ReturnType<typeof createSigningKeys>;

/** The keys that sign, by purpose: a ticket cannot pass for an ID token. */
export const createSigningKeys = (deps: Deps) => {
  const ticket = createKeyRing(deps, 'ticket');
  const openid = {
    'openid-es256': createKeyRing(deps, 'openid-es256'),
    'openid-rs256': createKeyRing(deps, 'openid-rs256'),
  };

  return {
    ticket,
    ...openid,

    sign: async (claims: TicketClaims): Promise<string> => {
      const { id, privateKey } = await ticket.signingKey();
      const header = { alg: TICKET_ALGORITHM, kid: id, typ: 'JWT' };
      return new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
    },

    /** The claims of a ticket, or null if it is not signed, is from another issuer or has expired. Does not check its audience. */
    verify: async (text: string, issuer: string): Promise<TicketClaims | null> => {
      const options = { algorithms: [TICKET_ALGORITHM], issuer, currentDate: deps.clock.now() };
      const verify = async () =>
        jwtVerify<TicketClaims>(text, createLocalJWKSet(await ticket.publishedKeys()), options);
      const retryWithNewKeys = (error: unknown) => {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        ticket.forget();
        return verify();
      };
      try {
        await verify().catch(retryWithNewKeys);
        return readClaims(text);
      } catch (error) {
        if (error instanceof errors.JOSEError) return null;
        throw error;
      }
    },

    /** Creates the first key of tickets, adds a new key when the last is old enough, and deletes keys whose last signature has expired. */
    maintain: async (audit: Audit): Promise<void> => {
      await ticket.publishedKeys();
      for (const ring of [ticket, ...Object.values(openid)]) await ring.maintain(audit);
    },
  };
};

/**
 * The keys of a purpose, kept in memory for at most 30 seconds. A new key signs only when every cache of the published keys contains it.
 */
const createKeyRing = ({ em, secretKey, clock, logger, signingKeyDays }: Deps, purpose: KeyPurpose) => {
  let known: { keys: SigningKey[]; readAt: number } | null = null;
  const unreadable = new Set<string>();

  const read = async (tx: Em): Promise<SigningKey[]> => {
    const keys = await readSigningKeys(tx, secretKey, purpose);
    for (const { id, privateKey } of keys) {
      if (privateKey || unreadable.has(id)) continue;
      unreadable.add(id);
      logger.warn(`The signing key ${id} cannot be opened: it was created with another SECRET_KEY.`);
    }
    return keys;
  };
  const list = async (tx: Em): Promise<RatedKey[]> => rateKeys(await read(tx), clock.now());
  const add = async (tx: Em, delayMs: number): Promise<string> =>
    insertKey(tx, { secretKey, now: clock.now(), delayMs, purpose });
  const readOrAddFirst = async (): Promise<SigningKey[]> => {
    const keys = await read(em);
    if (keys.some(isReadable)) return keys;
    // One of several instances that start together creates the first key.
    await em.fork().transactional(async (tx) => {
      await lockSigningKeys(tx);
      if (!(await read(tx)).some(isReadable)) await add(tx, AT_ONCE_MS);
    });
    return read(em);
  };
  /** Creates the first key if there is none. */
  const currentKeys = async (): Promise<RatedKey[]> => {
    const now = clock.now();
    // The clock may have been set back.
    if (known === null || Math.abs(now.getTime() - known.readAt) >= REREAD_MS)
      known = { keys: await readOrAddFirst(), readAt: now.getTime() };
    return rateKeys(known.keys, now);
  };
  const published = async (): Promise<RatedKey[]> =>
    (await currentKeys()).filter(({ isPublished }) => isPublished);
  /** Adds a key and returns it, unless there is one that does not sign yet. */
  const rotate = async (tx: Em, audit: Audit, actor: Actor | null): Promise<RatedKey> => {
    await lockSigningKeys(tx);
    const keys = await list(tx);
    const pending = keys.find(({ state }) => state === 'pending');
    if (pending) return pending;
    const delayMs = keys.some(({ state }) => state === 'signing') ? PUBLISHED_FIRST_MS : AT_ONCE_MS;
    const id = await add(tx, delayMs);
    known = null;
    await audit.record(tx, [
      { action: 'signing-key.rotate', actor, target: { type: 'signing-key', id, label: id } },
    ]);
    const added = (await list(tx)).find((key) => key.id === id);
    if (!added) throw new Error('a new key is not in the list');
    return added;
  };

  return {
    list,
    rotate,
    published,
    /** Reads the keys again for the next use. */
    forget: (): void => {
      known = null;
    },

    /** A JWK set. */
    publishedKeys: async () => ({ keys: (await published()).map((key): JWK => key.public_key) }),

    /** The published keys with their private parts, the one that signs first. Without keys of another secret key of the service. */
    openKeys: async () => {
      const keys = await published();
      const signingFirst = [...keys.filter(isSigning), ...keys.filter((key) => !isSigning(key))];
      return signingFirst.flatMap(({ id, privateKey }) =>
        privateKey ? { id, algorithm: ALGORITHMS[purpose], privateKey } : [],
      );
    },

    signingKey: async (): Promise<{ id: string; privateKey: KeyObject }> => {
      const key = (await currentKeys()).find(isSigning);
      if (!key?.privateKey) throw new Error('no key signs');
      return { id: key.id, privateKey: key.privateKey };
    },

    /** Adds a new key when the last is old enough, and deletes keys whose last signature has expired. */
    maintain: (audit: Audit): Promise<void> =>
      em.fork().transactional(async (tx) => {
        await lockSigningKeys(tx);
        const keys = await list(tx);
        const newest = keys.find(isReadable);
        const bornBefore = clock.now().getTime() - signingKeyDays * DAY_MS;
        if (newest && newest.created_at.getTime() <= bornBefore) await rotate(tx, audit, null);
        const retired = keys.filter(({ isPublished }) => !isPublished).map(({ id }) => id);
        await kysely(tx)
          .deleteFrom('signing_keys')
          .where(isAnyOf('id', retired, 'varchar'))
          .execute();
      }),
  };
};

/** How long others may cache the published keys. */
export const JWKS_MAX_AGE_SECONDS = 300;
/** The age at which an instance reads the keys again. */
const REREAD_MS = 30_000;
/** From the creation of a key until it signs. By then, every cache of the published keys contains it. */
const PUBLISHED_FIRST_MS = JWKS_MAX_AGE_SECONDS * 1000 + REREAD_MS;
/** The delay of a first key: in the past, so that it also signs for a caller or an instance whose clock is a little behind. */
const AT_ONCE_MS = -60_000;
/** How far the clock of a verifier may be behind, twice the default tolerance. */
const VERIFIER_DELAY_MS = 60_000;
/** From the first signature of the next key until the last ticket of a key has expired. */
const LAST_TICKET_MS = REREAD_MS + MAX_TICKET_SECONDS * 1000 + VERIFIER_DELAY_MS;

/** Serializes changes of the keys by all instances, until the end of the transaction. */
const lockSigningKeys = (tx: Em) =>
  sql`select pg_advisory_xact_lock(hashtextextended('signing keys', 0))`.execute(kysely(tx));

const boxOf = (secretKey: string) => createSealedBox(deriveKey(secretKey, 'steward signing keys'));

/** Newest first. `privateKey` is null if the key is sealed with another secret key. */
export const readSigningKeys = async (em: Em, secretKey: string, purpose?: KeyPurpose) => {
  const box = boxOf(secretKey);
  let query = kysely(em)
    .selectFrom('signing_keys')
    .select(['id', 'purpose', 'sealed_key', 'public_key', 'created_at', 'signs_from']);
  if (purpose !== undefined) query = query.where('purpose', '=', purpose);
  const rows = await query
    .orderBy('signs_from', 'desc')
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();
  const open = (sealed: Uint8Array, id: string): KeyObject | null => {
    try {
      return createPrivateKey({ key: JSON.parse(box.open(sealed, id).toString()), format: 'jwk' });
    } catch (_sealedWithAnotherKey) {
      return null;
    }
  };
  return rows.map(({ sealed_key, ...row }) => ({ ...row, privateKey: open(sealed_key, row.id) }));
};

type SigningKey = Awaited<ReturnType<typeof readSigningKeys>>[number];

const isReadable = ({ privateKey }: SigningKey): boolean => privateKey !== null;

const generatePair = promisify(generateKeyPair);

const ALGORITHMS: Record<KeyPurpose, 'ES256' | 'RS256'> = {
  ticket: TICKET_ALGORITHM,
  'openid-es256': 'ES256',
  'openid-rs256': 'RS256',
};

const RSA_BITS = 2048;

type NewKey = { secretKey: string; now: Date; delayMs: number; purpose: KeyPurpose };

/** Returns its id. `delayMs`: from its creation until it signs. */
const insertKey = async (tx: Em, { secretKey, now, delayMs, purpose }: NewKey): Promise<string> => {
  const alg = ALGORITHMS[purpose];
  const { privateKey, publicKey } = await (alg === 'ES256'
    ? generatePair('ec', { namedCurve: 'P-256' })
    : generatePair('rsa', { modulusLength: RSA_BITS }));
  const id = await calculateJwkThumbprint(privateKey);
  const jwk = JSON.stringify(privateKey.export({ format: 'jwk' }));
  const sealed_key = boxOf(secretKey).seal(Buffer.from(jwk), id);
  const public_key = { ...publicKey.export({ format: 'jwk' }), kid: id, use: 'sig', alg };
  await kysely(tx)
    .insertInto('signing_keys')
    .values({
      id,
      purpose,
      sealed_key,
      public_key,
      created_at: now,
      signs_from: new Date(now.getTime() + delayMs),
    })
    .execute();
  return id;
};

/** `pending`: published, but does not sign yet. `retiring`: does not sign any more. `unreadable`: sealed with another secret key. */
type SigningKeyState = 'pending' | 'signing' | 'retiring' | 'retired' | 'unreadable';

type RatedKey = SigningKey & { state: SigningKeyState; isPublished: boolean };

const isSigning = ({ state }: RatedKey): boolean => state === 'signing';

/** @param keys newest first */
const rateKeys = (keys: readonly SigningKey[], now: Date): RatedKey[] => {
  const signing = keys.find((key) => key.signs_from <= now && isReadable(key));
  return keys.map((key, index) => {
    const next = keys[index - 1];
    const isRetired = next !== undefined && now.getTime() > next.signs_from.getTime() + LAST_TICKET_MS;
    const stateOf = (): SigningKeyState => {
      if (key === signing) return 'signing';
      if (isRetired) return 'retired';
      if (!isReadable(key)) return 'unreadable';
      return key.signs_from > now ? 'pending' : 'retiring';
    };
    return { ...key, state: stateOf(), isPublished: key === signing || !isRetired };
  });
};
