import { sql } from 'kysely';
import type { Pool } from 'pg';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import { networkOf } from '../../lib/ip-networks.ts';
import { createKeyedLimit } from '../../lib/keyed-limit.ts';
import { Problem } from '../../lib/problems.ts';
import { type Bucket, createBuckets, hashKey, type Limit } from '../rate-limits/counters.ts';

export const GUESS_WINDOW_MINUTES = 15;
const windowMs = GUESS_WINDOW_MINUTES * MINUTE_MS;

/** Limit of wrong passwords, or codes, for an account from one network. After the same number from any networks, the owner gets a mail. */
export const MAX_GUESSES = 10;

/**
 * Limits for callers who have not logged in. Guesses count while they are checked, and stay counted if they are wrong. Secrets that cannot
 * be guessed are not limited.
 */
const LIMITS = {
  /** Per account and network, and per account for its sessions and tokens. */
  password: { max: MAX_GUESSES, windowMs },
  code: { max: MAX_GUESSES, windowMs },
  /**
   * Per account, for all known networks together, and for all others together. Lower for codes, because they are shorter than passwords.
   */
  'password-total': { max: 100, windowMs },
  'code-total': { max: 20, windowMs },
  /** Per network, for all accounts to which it is unknown: more than all people behind one network address mistype in a morning. */
  guesses: { max: 100, windowMs },

  /** Per network. Each adds a row that is kept. */
  passkey: { max: 100, windowMs },
  /** Per network, for an access view without its own limit. A page that reloads each second stays below it. */
  view: { max: 1_000, windowMs },
  /** Per network. Each may request the keys of the provider. */
  logout: { max: 300, windowMs },

  /** Mailed links: enough for a user who looks in the wrong mailbox, too few to flood the owner of the address. */
  reset: { max: 5, windowMs: HOUR_MS },
  resets: { max: 50, windowMs: HOUR_MS },
} satisfies Record<string, Limit>;

type LimitName = keyof typeof LIMITS;

/** `live`: within a session, or with a token, of the account. */
export type PasswordEntry = 'login' | 'live';

/** `known`: a login from a network from which a session or token of the account was last used. */
export type GuessSource = 'live' | 'known' | 'unknown';

/** `account`: the email address as entered. */
export type Guess = { kind: 'password' | 'code'; account: string; address: string; source: GuessSource };

/** SQL: the addresses from which the sessions and tokens of a row of `users` were last used. */
export const LAST_ADDRESSES = sql<string[]>`array(
  select last_address::text from sessions where user_id = users.id
  union select last_address::text from api_tokens where user_id = users.id)`;

export const sourceOf = (address: string, lastAddresses: readonly string[]): GuessSource => {
  const network = networkOf(address);
  return network !== '' && lastAddresses.map(networkOf).includes(network) ? 'known' : 'unknown';
};

export const createGuessLimits = (pool: Pool) => {
  const { take, giveBack } = createBuckets(pool);
  return {
    /**
     * Counts a guess before it is checked, so that concurrent guesses cannot exceed the limit. Give back each guess that was not wrong.
     * @throws Problem `throttled`
     */
    take: async (guess: Guess) => {
      const taken = await take(...bucketsOf(guess));
      const ofAccount = taken.at(-1)?.points ?? 0;
      return { isTenth: ofAccount === MAX_GUESSES, giveBack: () => giveBack(taken) };
    },

    /** Deletes the counts of wrong passwords after a password reset, which proves ownership by mail. */
    clearPasswords: async (account: string): Promise<void> => {
      const prefix = `${accountPrefix(account)}password`;
      await pool.query('delete from rate_limits where starts_with(key, $1)', [prefix]);
    },
  };
};

/** Limits actions of anonymous callers. Each function fails with `throttled` beyond its limit. */
export const createAnonymousLimits = (pool: Pool) => {
  const { take } = createBuckets(pool);
  return {
    /** Counts a failure from a network. */
    addFailure: async (name: 'passkey' | 'logout', address: string): Promise<void> => {
      await take(networkBucket(name, address));
    },

    /** Counts a request to mail a link, whether or not the account exists. */
    addReset: async (email: string, address: string): Promise<void> => {
      // The network first: beyond its limit, requests must not use up the limits of accounts.
      await take(networkBucket('resets', address), accountBucket('reset', email));
    },

    /** Counts a use of an access view without its own limit. */
    addViewUse: async (viewId: number, address: string): Promise<void> => {
      await take(networkBucket('view', address, viewId));
    },
  };
};

/** The narrowest first: a guess that it refuses does not count in the others. */
const bucketsOf = ({ kind, account, address, source }: Guess): Bucket[] => {
  if (source === 'live') return [accountBucket(kind, account, source)];
  return [
    accountBucket(kind, account, hashKey(networkOf(address))),
    ...(source === 'unknown' ? [networkBucket('guesses', address)] : []),
    accountBucket(`${kind}-total`, account, source),
  ];
};

const accountPrefix = (email: string): string => `account:${hashKey(email)}:`;

const accountBucket = (name: LimitName, email: string, part = ''): Bucket => ({
  ...LIMITS[name],
  key: `${accountPrefix(email)}${name}:${part}`,
});

const networkBucket = (name: LimitName, address: string, part: number | string = ''): Bucket => ({
  ...LIMITS[name],
  key: `network:${hashKey(networkOf(address))}:${name}:${part}`,
});

/** Deletes all counts of an account. */
export const deleteCounts = (tx: Em, email: string) =>
  kysely(tx)
    .deleteFrom('rate_limits')
    .where(condition`starts_with(key, ${accountPrefix(email)})`)
    .execute();

/**
 * Concurrent verifications, including those in the shared hashing queue. Each takes about 40 ms of a core. The verifications of an account
 * count as guesses: with 5 processes, correct passwords alone never exceed their limit.
 */
const PER_ACCOUNT = 2;
const PER_NETWORK = 16;
/** Further logins that may wait per account or network. */
const MAX_WAITING = 200;

const TOO_MANY = { detail: 'Too many logins at the same time. Try again in a moment.', retryAfterSeconds: 1 };

/**
 * Limits concurrent logins per account and per network, so that one of them cannot fill the shared hashing queue. The limits on failures do
 * not prevent that: logins with a correct password are never throttled. Kept in memory, like the queue.
 */
export const createLoginConcurrency = () => {
  const accounts = createLoginLimit(PER_ACCOUNT);
  const networks = createLoginLimit(PER_NETWORK);
  return {
    /** @throws Problem `throttled` */
    run: <T>({ email, address, source }: Login, work: () => Promise<T>): Promise<T> => {
      const network = networkOf(address);
      const ofAccount = `${source === 'live' ? source : network} ${email}`;
      // Only logins from unknown networks wait for logins of other accounts.
      return accounts(ofAccount, () => networks(source === 'unknown' ? network : ofAccount, work));
    },
  };
};

type Login = { email: string; address: string; source: GuessSource };

const createLoginLimit = (concurrency: number) =>
  createKeyedLimit(concurrency, {
    admit: (pending) => {
      if (pending >= concurrency + MAX_WAITING) throw new Problem('throttled', TOO_MANY);
    },
  });
