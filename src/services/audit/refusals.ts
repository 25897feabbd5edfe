import { clientIdsOf, type Em } from '../../db/kysely.ts';
import { type Clock, MINUTE_MS } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { type Audit, NO_TARGET, type Origin } from './audit.ts';

/** Entries per user and minute. The audit trail may be kept forever, so a client in a loop must not fill it. */
const MAX_PER_MINUTE = 10;

type RefusalLimit = ReturnType<typeof createRefusalLimit>;

/** Limits the recorded refusals per user and minute: one per kind of request, and `MAX_PER_MINUTE` in total. Counted per process. */
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
  /** Must not be the transaction of the refused request, whose rollback would remove the entry. */
  em: Em;
  clock: Clock;
  audit: Audit;
  origin: Origin;
  logger: Pick<Logger, 'warn'>;
  refusalLimit: RefusalLimit;
};

/** Records requests of authenticated users that were refused with 403. */
export const createRefusals = ({ em, clock, audit, origin, logger, refusalLimit }: Deps) => ({
  /**
   * Never throws: the caller must get the reason of the refusal even if it cannot be recorded.
   * @param request procedure, or method and route
   */
  record: async (actor: Actor, request: string, { code }: Problem): Promise<void> => {
    if (!refusalLimit(actor.id, request, clock.now())) return;
    try {
      const clients = await clientIdsOf(em, actor.id);
      const details = { request, problem: code };
      await audit.record(em, [{ action: 'request.refused', actor, target: NO_TARGET, clients, details }]);
    } catch (error) {
      const line = { err: error, reqId: origin.requestId };
      logger.warn(line, 'cannot record a refused request in the audit trail');
    }
  },
});
