import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { clientIdsOf } from '../../db/kysely.ts';
import { type Clock, MINUTE_MS } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import type { Audit } from './audit.ts';

/** Entries of one user in a minute. The audit trail is never pruned, so a loop must not fill it. */
const MAX_PER_MINUTE = 10;

export type RefusalLimit = ReturnType<typeof createRefusalLimit>;

/** Lets one refusal of each request of a user through in a minute, and `MAX_PER_MINUTE` in all. For one process. */
export const createRefusalLimit = () => {
  let minute = 0;
  const recorded = new Map<number, Set<string>>();
  return (userId: number, request: string, now: Date): boolean => {
    const current = Math.floor(now.getTime() / MINUTE_MS);
    if (current !== minute) recorded.clear();
    minute = current;
    const requests = recorded.get(userId) ?? new Set();
    recorded.set(userId, requests);
    if (requests.has(request) || requests.size >= MAX_PER_MINUTE) return false;
    requests.add(request);
    return true;
  };
};

type Deps = {
  /** Outside of the transaction of the refused request, whose rollback must not remove the entry. */
  em: SqlEntityManager;
  clock: Clock;
  audit: Audit;
  logger: Pick<Logger, 'warn'>;
  refusalLimit: RefusalLimit;
};

/** Requests of known users that were refused with 403. */
export const createRefusals = ({ em, clock, audit, logger, refusalLimit }: Deps) => ({
  /**
   * Never fails: the caller is told why the request was refused, whether or not that could be recorded.
   * @param request procedure, or method and route
   */
  record: async (actor: Actor, request: string, { code }: Problem): Promise<void> => {
    if (!refusalLimit(actor.id, request, clock.now())) return;
    try {
      const clients = await clientIdsOf(em, actor.id);
      const details = { request, problem: code };
      await audit.record(em, [{ action: 'request.refused', actor, target: '', clients, details }]);
    } catch (error) {
      logger.warn({ err: error }, 'a refused request could not be recorded in the audit trail');
    }
  },
});
