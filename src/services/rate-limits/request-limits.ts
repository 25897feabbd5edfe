import type { Pool } from 'pg';
import { MINUTE_MS } from '../../lib/clock.ts';
import { networkOf } from '../../lib/ip-networks.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Credential } from '../access/actor.ts';
import { addPoints } from './counters.ts';

/** An instance reserves a twentieth of the limit at a time: one write per request would cost more than most requests. */
const RESERVATIONS_PER_WINDOW = 20;
/** Callers kept in memory, about 200 bytes each. Evicting one loses its reservation. */
const MAX_CALLERS = 20_000;

/** Identified by the credential, or without one by the address. */
export type Caller = { credential: Pick<Credential, 'kind' | 'id'> | null; address: string };

/** The remaining requests of a window, as far as this instance knows. */
export type Allowance = { isGranted: boolean; remaining: number; resetSeconds: number };

type Window = {
  /** From the database; null for a window that this instance opened without it. */
  id: string | null;
  /** By the monotonic clock. */
  endsAt: number;
  /** Reserved by this instance and not used yet. */
  reserved: number;
  /** Not reserved by any instance at the last reservation. */
  unreserved: number;
  used: number;
};

type Deps = {
  pool: Pool;
  limit: number;
  logger: Pick<Logger, 'warn'>;
  windowMs?: number;
  /** A monotonic clock, in milliseconds. */
  nowMs?: () => number;
};

export type RequestLimits = ReturnType<typeof createRequestLimits>;

/**
 * Limits the requests of each caller in fixed windows that start with the first request. All instances together never
 * grant more than the limit; what an instance reserves and does not use is lost, less than a twentieth of the limit.
 */
export const createRequestLimits = ({
  pool,
  limit,
  logger,
  windowMs = MINUTE_MS,
  nowMs = () => performance.now(),
}: Deps) => {
  const reservation = Math.max(1, Math.floor(limit / RESERVATIONS_PER_WINDOW));
  const windows = new Map<string, Window>();
  const reserving = new Map<string, Promise<void>>();

  const currentWindow = (key: string): Window | undefined => {
    const window = windows.get(key);
    return window && nowMs() < window.endsAt ? window : undefined;
  };

  const keep = (key: string, window: Window): void => {
    // Reinserted, so that the first entry is the least recently refilled one.
    windows.delete(key);
    const [oldest] = windows.size >= MAX_CALLERS ? windows.keys() : [];
    if (oldest !== undefined) windows.delete(oldest);
    windows.set(key, window);
  };

  const reserve = async (key: string, points: number): Promise<void> => {
    const startedAt = nowMs();
    const count = await addPoints(pool, { key: `requests:${key}`, windowMs }, points);
    const current = currentWindow(key);
    const same = current?.id === count.window ? current : undefined;
    const before = Math.min(limit, count.points - points);
    keep(key, {
      id: count.window,
      // Measured from before the query, so that the window ends here no later than in the database.
      endsAt: startedAt + count.msLeft,
      reserved: (same?.reserved ?? 0) + Math.min(points, limit - before),
      unreserved: Math.max(0, limit - count.points),
      used: same?.used ?? 0,
    });
  };

  /** While the database is unavailable, each instance applies the limit on its own. */
  const countLocally = (key: string, err: unknown): void => {
    const { endsAt = nowMs() + windowMs, used = 0 } = currentWindow(key) ?? {};
    keep(key, { id: null, endsAt, reserved: Math.max(0, limit - used), unreserved: 0, used });
    logger.warn({ err }, 'database unavailable: this instance counts requests on its own');
  };

  /** Runs one reservation per caller at a time; concurrent requests wait for it and share the result. */
  const refill = async (key: string, points: number): Promise<void> => {
    const pending = reserving.get(key);
    if (pending) return pending;
    const refilled = reserve(key, Math.max(reservation, points))
      .catch((error: unknown) => countLocally(key, error))
      .finally(() => reserving.delete(key));
    reserving.set(key, refilled);
    return refilled;
  };

  const allowanceOf = ({ reserved, unreserved, endsAt }: Window, isGranted: boolean): Allowance => ({
    isGranted,
    remaining: reserved + unreserved,
    resetSeconds: Math.max(1, Math.ceil((endsAt - nowMs()) / 1000)),
  });

  return {
    limit,
    windowSeconds: Math.ceil(windowMs / 1000),

    /** Grants all requests of a batch, or none. */
    consume: async (caller: Caller, requests: number): Promise<Allowance> => {
      const key = keyOf(caller);
      for (;;) {
        const window = currentWindow(key);
        const isGranted = window !== undefined && window.reserved >= requests;
        if (window && (isGranted || window.unreserved === 0)) {
          if (isGranted) {
            window.reserved -= requests;
            window.used += requests;
          }
          return allowanceOf(window, isGranted);
        }
        await refill(key, requests - (window?.reserved ?? 0));
      }
    },
  };
};

const keyOf = ({ credential, address }: Caller): string =>
  credential ? `${credential.kind}:${credential.id}` : `address:${networkOf(address)}`;
