import type { FastifyInstance } from 'fastify';
import { Problem } from '../lib/problems.ts';
import { refuseOtherMethods } from './rest/methods.ts';

export type HealthDeps = {
  /** @throws Problem if the reason is known */
  isReady: () => Promise<boolean>;
};

/**
 * `/healthz` succeeds while the process responds: it checks nothing else, so that a database outage does not restart the service.
 * `/readyz` succeeds if the database responds, has all migrations and accepts writes.
 */
export const serveHealthChecks = (app: FastifyInstance, { isReady }: HealthDeps): void => {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async () => {
    const isAvailable = await isReady().catch((error: unknown) => {
      if (error instanceof Problem) throw error;
      return false;
    });
    if (!isAvailable) throw new Problem('database-unavailable');
    return { status: 'ready' };
  });
  refuseOtherMethods(app, ['/healthz', '/readyz']);
};
