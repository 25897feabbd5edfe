import type { FastifyInstance } from 'fastify';
import { Problem } from '../lib/problems.ts';

/** @throws Problem where the reason is known */
export type Readiness = () => Promise<boolean>;

/**
 * `/healthz` tells that the process answers, and asks nothing else, so that a database outage restarts nobody;
 * `/readyz` that the database answers, has every migration and accepts writes.
 */
export const serveHealth = (app: FastifyInstance, isReady: Readiness): void => {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async () => {
    if (!(await isReady().catch(orFalse))) throw new Problem('database-unavailable');
    return { status: 'ready' };
  });
};

const orFalse = (error: unknown): false => {
  if (error instanceof Problem) throw error;
  return false;
};
