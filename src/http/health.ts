import type { FastifyInstance } from 'fastify';
import { Problem } from '../lib/problems.ts';

/** @throws Problem if the reason is known */
export type Readiness = () => Promise<boolean>;

/**
 * `/healthz` succeeds while the process responds: it checks nothing else, so that a database outage does not restart the service.
 * `/readyz` succeeds if the database responds, has all migrations and accepts writes.
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
