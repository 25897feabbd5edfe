import type { Actor } from '../access/actor.ts';
import { startOperation } from '../audit/operation-log.ts';
import { type RowProblem, rowProblemOf, withCurrentActor } from '../auth/bulk-rows.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import { createInvitations } from '../invitations/invitations.ts';
import { renewInvitation } from '../invitations/invite.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

export const INVITATION_ACTIONS = ['resend', 'revoke'] as const;

/** Limit of invitations per request. */
export const MAX_BULK_INVITATIONS = 1_000;

type InvitationsRequest = { ids: number[]; action: (typeof INVITATION_ACTIONS)[number] };
type LinkRow = {
  id: number;
  email: string | null;
  url: string | null;
  expires_at: Date | null;
  problem: RowProblem | null;
};
type RowResult = { id: number; status: 'ok' | 'failed'; problem: RowProblem | null };

/** Resends or revokes many invitations, or copies their links, each in a separate transaction, like bulk changes of users. */
export const createBulkInvitations = (unit: UnitOfWork) => {
  const { em, clock, idempotency } = unit;

  const updateAll = async (actor: Actor, { ids, action }: InvitationsRequest, operation: string) => {
    const results: RowResult[] = [];
    for await (const [current, id] of withCurrentActor(em, actor, [...new Set(ids)])) {
      const row = { ...unit, em: em.fork() };
      const done =
        action === 'resend'
          ? row.em.transactional((tx) => renewInvitation(tx, unit, current, id, operation))
          : createInvitations(row).revoke(current, id);
      const problem = await done.then(() => null, rowProblemOf);
      results.push({ id, status: problem === null ? 'ok' : 'failed', problem });
    }
    return { results };
  };

  return {
    /** The links of many invitations, each by the rules of the request for one. */
    copyLinks: async (actor: Actor, ids: readonly number[]): Promise<LinkRow[]> => {
      const results: LinkRow[] = [];
      for await (const [current, id] of withCurrentActor(em, actor, [...new Set(ids)])) {
        const copied = createInvitations({ ...unit, em: em.fork() }).copyLink(current, id);
        results.push(
          await copied.then(
            ({ email, url, expiresAt }) => ({ id, email, url, expires_at: expiresAt, problem: null }),
            (error) => ({ id, email: null, url: null, expires_at: null, problem: rowProblemOf(error) }),
          ),
        );
      }
      return results;
    },

    /** With an idempotency key, a repeat after a crash continues, and sends no mail twice. */
    update: (actor: Actor, input: InvitationsRequest, idempotencyKey: IdempotencyKey | null) =>
      idempotency.runPlan(
        { actor, idempotencyKey, operation: 'invitations.bulkUpdate', input },
        async (tx) => (await startOperation(tx, actor, `${input.action} invitations`, clock.now())).id,
        (operation) => updateAll(actor, input, operation),
      ),
  };
};
