import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import { networkOf } from '../../lib/ip-networks.ts';
import { createKeyedLimit } from '../../lib/keyed-limit.ts';
import { Problem } from '../../lib/problems.ts';
import {
  createPacer,
  createWindowCounter,
  hashKey,
  secondsLeft,
  type WindowCount,
} from '../rate-limits/counters.ts';

/** Of each count of an account: that of unknown browsers, that of each known browser, and that of live sessions. */
export const FAILURES_PER_ACCOUNT = 10;
export const FAILURE_WINDOW_MINUTES = 15;
/** Failures of a network, of all accounts, after which its logins are paced. */
const UNPACED_FAILURES_PER_NETWORK = 40;
const PACE_STEP_MS = 1_000;
const MAX_PACE_MS = 20_000;
/** Half of the time that a request has for its database work. */
const MAX_PACED_WAIT_MS = 5_000;

/**
 * Where a password is entered. `unknown`: a browser or script that nothing is known about; `known`: a browser with a valid device
 * cookie; `live`: a session or token of the account.
 */
export type LoginSource = { kind: 'unknown' } | { kind: 'known'; device: string } | { kind: 'live' };

/** An admitted login. `account` and `network` are the keys of its counts. */
export type AdmittedLogin = {
  account: string;
  /** Null: does not count for its network. */
  network: string | null;
  isPaced: boolean;
  source: LoginSource['kind'];
};

type LoginRequest = { username: string; address: string; source: LoginSource };

/** An admitted attempt to enter a code of a second factor. `isLast`: a failure locks further codes of logins from this source. */
export type AdmittedCode = AdmittedLogin & { isLast: boolean };

export type LoginThrottle = ReturnType<typeof createLoginThrottle>;

/**
 * The time between two logins of one network, which grows with its failures. With the unpaced ones, fewer than 100 guesses fit
 * into a window.
 */
export const paceOf = (failures: number): number =>
  Math.min(MAX_PACE_MS, Math.max(0, failures - UNPACED_FAILURES_PER_NETWORK + 1) * PACE_STEP_MS);

/**
 * Limits failed logins per account, and paces those of a network. Known browsers and live sessions have counts of their own and
 * are never paced: strangers who guess cannot lock them out.
 * @param pause waits for the given number of milliseconds
 */
export const createLoginThrottle = (pool: Pool, pause: (ms: number) => Promise<unknown> = sleep) => {
  const failures = createWindowCounter(pool, FAILURE_WINDOW_MINUTES * MINUTE_MS);
  const pacer = createPacer(pool, { longestMs: MAX_PACE_MS, maxWaitMs: MAX_PACED_WAIT_MS, pause });

  const read = async ({ account, network }: Pick<AdmittedLogin, 'account' | 'network'>) => {
    const [ofAccount, ofNetwork] = await failures.read(account, ...(network === null ? [] : [network]));
    return { ofAccount, ofNetwork };
  };

  const admit = async (account: string, { address, source }: LoginRequest): Promise<AdmittedLogin> => {
    const network = source.kind === 'unknown' ? networkKey('login', address) : null;
    const { ofAccount, ofNetwork } = await read({ account, network });
    rejectAt([ofAccount, FAILURES_PER_ACCOUNT]);
    const paceMs = paceOf(ofNetwork?.points ?? 0);
    if (paceMs > 0) await pacer.waitForTurn(networkKey('login-pace', address), paceMs);
    return { account, network, isPaced: paceMs > 0, source: source.kind };
  };

  return {
    /**
     * Waits for its turn, up to 5 seconds, if the network had many failures.
     * @throws Problem `throttled`
     */
    admit: (login: LoginRequest): Promise<AdmittedLogin> =>
      admit(countKey('login', login.username, login.source), login),

    /**
     * As `admit`, for the code of a second factor. Counts the attempt before it is checked, because a code is guessed with fewer
     * attempts than a password: of a burst of guesses, no more than the limit are checked. Passwords do not clear this count.
     * @throws Problem `throttled`
     */
    admitCode: async (login: LoginRequest): Promise<AdmittedCode> => {
      const admitted = await admit(countKey('code', login.username, login.source), login);
      const attempts = await failures.add(admitted.account);
      rejectAt([attempts, FAILURES_PER_ACCOUNT + 1]);
      const isLast = login.source.kind !== 'live' && attempts.points === FAILURES_PER_ACCOUNT;
      return { ...admitted, isLast };
    },

    /** Counts a wrong code for the network. */
    recordWrongCode: async ({ network }: AdmittedCode): Promise<void> => {
      if (network !== null) await failures.add(network);
    },

    /** Clears the account's count of codes, after a right one. */
    clearCodes: ({ account }: AdmittedCode): Promise<void> => failures.remove(account),

    /**
     * Guesses sent in one burst are all admitted. Those beyond a limit get `throttled` whether wrong or right (see
     * `recordSuccess`): a different response to the right one would reveal the password.
     * @returns whether this failure locked the account for unknown browsers, and the problem of a guess beyond a limit
     */
    recordFailure: async ({ account, network, isPaced, source }: AdmittedLogin) => {
      const [ofAccount, ofNetwork] = await Promise.all([
        failures.add(account),
        network === null ? null : failures.add(network),
      ]);
      return {
        hasLocked: source === 'unknown' && ofAccount.points === FAILURES_PER_ACCOUNT,
        refusal: refusalAt(
          [ofAccount, FAILURES_PER_ACCOUNT + 1],
          [isPaced ? null : ofNetwork, UNPACED_FAILURES_PER_NETWORK + 1, 1],
        ),
      };
    },

    /**
     * Clears the account's count that this login used, unless other logins reached a limit while it was being verified.
     * @throws Problem `throttled`
     */
    recordSuccess: async (login: AdmittedLogin): Promise<void> => {
      const { ofAccount, ofNetwork } = await read(login);
      rejectAt(
        [ofAccount, FAILURES_PER_ACCOUNT],
        [login.isPaced ? null : ofNetwork, UNPACED_FAILURES_PER_NETWORK, 1],
      );
      if (ofAccount) await failures.remove(login.account);
    },

    /** Clears the account's counts of passwords after a password reset, which proves ownership by mail. */
    clear: (username: string): Promise<void> =>
      failures.remove(accountKey('login', username), accountKey('live', username)),
  };
};

/**
 * Failures of a network in 15 minutes, with secrets that cannot be guessed: they bound the load. They count after the lookup, so that those
 * who know a secret are never refused because of others.
 */
const FAILURES_PER_NETWORK = { passkey: 100, logout: 300, callback: 300 };

/** Enough for a user who looks in the wrong mailbox, too few to flood the owner of the address. */
const RESETS_PER_ACCOUNT = 5;
const RESETS_PER_NETWORK = 50;
/** All people of an office who log in at nine o'clock stay below it. */
const SSO_LOGINS_PER_NETWORK = 2_000;
/** A page that is reloaded each second stays below it. */
const USES_PER_VIEW_AND_NETWORK = 1_000;

/** Limits what anonymous callers may do. Each function fails with `throttled` beyond its limit. */
export const createAnonymousLimits = (pool: Pool) => {
  const counter = createWindowCounter(pool, 15 * MINUTE_MS);
  const hourly = createWindowCounter(pool, HOUR_MS);
  return {
    /** Counts a failure of the network, unless it has failed too often. */
    addFailure: async (kind: keyof typeof FAILURES_PER_NETWORK, address: string): Promise<void> => {
      const [failures] = await counter.read(networkKey(kind, address));
      rejectAt([failures, FAILURES_PER_NETWORK[kind]]);
      await counter.add(networkKey(kind, address));
    },

    /** Counts a request to mail a link, whether or not the account exists. */
    addReset: async (email: string, address: string): Promise<void> => {
      // The network first: beyond its limit, requests must not use up the limits of accounts.
      rejectAt([await hourly.add(networkKey('reset', address)), RESETS_PER_NETWORK + 1]);
      rejectAt([await hourly.add(accountKey('reset', email)), RESETS_PER_ACCOUNT + 1]);
    },

    /** Counts a login that is started at an identity provider, or fails: each adds a row. */
    addSsoLogin: async (address: string): Promise<void> => {
      rejectAt([await counter.add(networkKey('sso', address)), SSO_LOGINS_PER_NETWORK + 1]);
    },

    /** Counts a use of an access view that has no limit, as each adds rows that are kept. */
    addViewUse: async (viewId: number, address: string): Promise<void> => {
      rejectAt([await counter.add(networkKey(`view-${viewId}`, address)), USES_PER_VIEW_AND_NETWORK + 1]);
    },
  };
};

/** `login`: passwords; `code`: codes of second factors. */
const countKey = (entered: 'login' | 'code', username: string, source: LoginSource): string => {
  if (source.kind === 'known') return `${entered}-device:${source.device}`;
  const live = entered === 'login' ? 'live' : 'live-code';
  return accountKey(source.kind === 'live' ? live : entered, username);
};

const ACCOUNT_COUNTS = ['login', 'live', 'code', 'live-code', 'reset'] as const;

/** The key of a count for an account. */
const accountKey = (prefix: (typeof ACCOUNT_COUNTS)[number], email: string): string =>
  `${prefix}-account:${hashKey(email)}`;

/** The keys of all counts that are named after an account. */
export const accountKeys = (email: string): string[] =>
  ACCOUNT_COUNTS.map((prefix) => accountKey(prefix, email));

const networkKey = (prefix: string, address: string): string =>
  `${prefix}-network:${hashKey(networkOf(address))}`;

/** `retryAfter`: seconds to wait, if not until the window ends. */
type Limit = [count: WindowCount | null | undefined, limit: number, retryAfter?: number];

/** The problem `throttled` if a count has reached its limit, else null. */
const refusalAt = (...limits: Limit[]): Problem | null => {
  const waits = limits.map(([count, limit, retryAfter]) =>
    count && count.points >= limit ? (retryAfter ?? secondsLeft(count)) : 0,
  );
  const retryAfterSeconds = Math.max(...waits);
  return retryAfterSeconds > 0 ? new Problem('throttled', { retryAfterSeconds }) : null;
};

/** @throws Problem `throttled` if a count has reached its limit */
const rejectAt = (...limits: Limit[]): void => {
  const refusal = refusalAt(...limits);
  if (refusal) throw refusal;
};

/** Concurrent verifications, including those in the shared hashing queue. Each takes about 40 ms of a core. */
const PER_ACCOUNT = 4;
const PER_NETWORK = 16;
/** Further logins that may wait per account or network. */
const MAX_WAITING = 200;

const TOO_MANY = { detail: 'Too many logins at the same time. Try again in a moment.', retryAfterSeconds: 1 };

/**
 * Limits concurrent logins per account and per network, so that one of them cannot fill the shared hashing queue. The
 * failure limits do not prevent that: logins with a correct password are never throttled. Kept in memory, as is the queue.
 */
export const createLoginConcurrency = () => {
  const accounts = createLoginLimit(PER_ACCOUNT);
  const networks = createLoginLimit(PER_NETWORK);
  return {
    /** @throws Problem `throttled` */
    run: <T>(email: string, network: string, work: () => Promise<T>): Promise<T> =>
      accounts(email, () => networks(network, work)),
  };
};

const createLoginLimit = (concurrency: number) =>
  createKeyedLimit(concurrency, {
    admit: (pending) => {
      if (pending >= concurrency + MAX_WAITING) throw new Problem('throttled', TOO_MANY);
    },
  });
