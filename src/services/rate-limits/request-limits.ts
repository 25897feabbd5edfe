import type { Pool } from 'pg';
import { MINUTE_MS } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Credential } from '../access/actor.ts';
import { createCounter, networkOf } from './window-counter.ts';

/** An instance takes a twentieth of the limit at a time: a write for each request would cost more than most requests do. */
const BLOCKS = 20;
/** Callers remembered at a time, some 200 bytes each. Of one that is forgotten the block is lost. */
const MAX_CALLERS = 20_000;

/** Whose request it is: whoever the credential was given to, or anybody at the address. */
export type Caller = { via: Pick<Credential, 'kind' | 'id'> | null; address: string };

/** What is left of a window, as far as this instance knows. */
export type Allowance = { isGranted: boolean; remaining: number; resetSeconds: number };

type Window = {
  /** As the database names it; null for one that this instance has made without it. */
  id: string | null;
  /** By `performance.now()`. */
  endsAt: number;
  /** Taken for this instance, and not used yet. */
  reserved: number;
  /** What nobody had taken when the database was asked. */
  shared: number;
  used: number;
};

type Deps = { pool: Pool; limit: number; logger: Pick<Logger, 'warn'>; windowMs?: number };

export type RequestLimits = ReturnType<typeof createRequestLimits>;

/**
 * Counts the requests of each caller in windows that begin with the first. All instances together never grant more than
 * the limit; what one of them has taken in advance and does not use is lost, less than a twentieth of it.
 */
export const createRequestLimits = ({ pool, limit, logger, windowMs = MINUTE_MS }: Deps) => {
  const block = Math.max(1, Math.floor(limit / BLOCKS));
  const counter = createCounter(pool, { keyPrefix: 'requests', windowMs });
  const windows = new Map<string, Window>();
  const reserving = new Map<string, Promise<void>>();

  const openWindow = (key: string): Window | undefined => {
    const window = windows.get(key);
    return window && performance.now() < window.endsAt ? window : undefined;
  };

  const keep = (key: string, window: Window): void => {
    // Inserted anew, so that the first one is the one that was asked for longest ago.
    windows.delete(key);
    const [oldest] = windows.size >= MAX_CALLERS ? windows.keys() : [];
    if (oldest !== undefined) windows.delete(oldest);
    windows.set(key, window);
  };

  const reserve = async (key: string, points: number): Promise<void> => {
    const askedAt = performance.now();
    const taken = await counter.add(key, points);
    const open = openWindow(key);
    const same = open?.id === taken.window ? open : undefined;
    const before = Math.min(limit, taken.points - points);
    keep(key, {
      id: taken.window,
      // From before the question was asked: it ends here no later than in the database.
      endsAt: askedAt + taken.msLeft,
      reserved: (same?.reserved ?? 0) + Math.min(points, limit - before),
      shared: Math.max(0, limit - taken.points),
      used: same?.used ?? 0,
    });
  };

  /** While the database is away, this instance grants the limit by itself: those who hammer it are held off then, too. */
  const countAlone = (key: string, err: unknown): void => {
    const { endsAt = performance.now() + windowMs, used = 0 } = openWindow(key) ?? {};
    keep(key, { id: null, endsAt, reserved: Math.max(0, limit - used), shared: 0, used });
    logger.warn({ err }, 'requests are counted by this instance alone');
  };

  /** One question at a time for each caller: the others wait, and share what it brings. */
  const refill = async (key: string, points: number): Promise<void> => {
    const waiting = reserving.get(key);
    if (waiting) return waiting;
    const asking = reserve(key, Math.max(block, points))
      .catch((error: unknown) => countAlone(key, error))
      .finally(() => reserving.delete(key));
    reserving.set(key, asking);
    return asking;
  };

  return {
    limit,
    windowSeconds: Math.ceil(windowMs / 1000),

    /** Takes as many requests as the caller makes at once: all of them, or none. */
    consume: async (caller: Caller, requests: number): Promise<Allowance> => {
      const key = keyOf(caller);
      for (;;) {
        const window = openWindow(key);
        const isGranted = window !== undefined && window.reserved >= requests;
        if (window && (isGranted || window.shared === 0)) {
          if (isGranted) use(window, requests);
          return allowanceOf(window, isGranted);
        }
        await refill(key, requests - (window?.reserved ?? 0));
      }
    },
  };
};

const keyOf = ({ via, address }: Caller): string =>
  via ? `${via.kind}:${via.id}` : `address:${networkOf(address)}`;

const use = (window: Window, requests: number): void => {
  window.reserved -= requests;
  window.used += requests;
};

const allowanceOf = ({ reserved, shared, endsAt }: Window, isGranted: boolean): Allowance => ({
  isGranted,
  remaining: reserved + shared,
  resetSeconds: Math.max(1, Math.ceil((endsAt - performance.now()) / 1000)),
});
