import type { FastifyInstance } from 'fastify';
import { Problem } from '../lib/problems.ts';
import { refuseOtherMethods } from './rest/methods.ts';

export type HealthDeps = {
  /** False if only a restart helps. */
  isAlive: () => boolean;
  /** @throws Problem if the reason is known */
  isReady: () => Promise<boolean>;
};

const STATUS_PATH = '/api/v1/status/';

/**
 * `/healthz` succeeds while the process responds and can use its connections. It sends no query, so that a database outage does not
 * restart the service.
 * `/readyz` succeeds if the database responds, has all migrations and accepts writes. The path of the replaced service does the
 * same, but hides the reason of a failure from its anonymous callers.
 */
export const serveHealthChecks = (app: FastifyInstance, { isAlive, isReady }: HealthDeps): void => {
  app.get('/healthz', async () => {
    if (!isAlive()) throw new Problem('overloaded', { detail: 'All database connections are lost.' });
    return { status: 'ok' };
  });
  const checkReadiness = async () => {
    const isAvailable = await isReady().catch((error: unknown) => {
      if (error instanceof Problem) throw error;
      return false;
    });
    if (!isAvailable) throw new Problem('database-unavailable');
    return { status: 'ready' };
  };
  app.get('/readyz', checkReadiness);
  app.get(STATUS_PATH, () => checkReadiness().catch(rethrowWithoutDetail));
  refuseOtherMethods(app, ['/healthz', '/readyz', STATUS_PATH]);
};

const rethrowWithoutDetail = (error: unknown): never => {
  throw error instanceof Problem ? new Problem(error.code, { cause: error }) : error;
};
