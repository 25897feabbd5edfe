import pLimit, { type LimitFunction } from 'p-limit';
import { Problem } from '../../lib/problems.ts';

/** How many are verified, or wait to be, together with everybody else's. Each takes about 40 ms of a core. */
const PER_ACCOUNT = 4;
const PER_NETWORK = 16;
/** How many more stand in line behind those. */
const MAX_WAITING = 200;

const TOO_MANY = { detail: 'Too many logins at the same time. Try again in a moment.', retryAfterSeconds: 1 };

export type LoginConcurrency = ReturnType<typeof createLoginConcurrency>;

/**
 * Keeps one account, or one network, from filling the queue in which everybody's passwords are verified: who knows
 * one right password is never throttled for failures. They wait in lines of their own, in memory as the queue is.
 */
export const createLoginConcurrency = () => {
  const accounts = createLanes(PER_ACCOUNT);
  const networks = createLanes(PER_NETWORK);
  return {
    /** @throws Problem `throttled` */
    run: <T>(email: string, network: string, work: () => Promise<T>): Promise<T> =>
      accounts(email, () => networks(network, work)),
  };
};

type Lane = { limit: LimitFunction; users: number };

const createLanes = (width: number) => {
  const lanes = new Map<string, Lane>();
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const lane = lanes.get(key) ?? { limit: pLimit(width), users: 0 };
    if (lane.users >= width + MAX_WAITING) throw new Problem('throttled', TOO_MANY);
    lanes.set(key, lane);
    lane.users += 1;
    try {
      return await lane.limit(work);
    } finally {
      lane.users -= 1;
      if (lane.users === 0) lanes.delete(key);
    }
  };
};
