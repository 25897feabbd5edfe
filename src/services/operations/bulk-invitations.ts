import type { Actor } from '../access/actor.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import { createInvitationLifecycle } from '../invitations/invitation-lifecycle.ts';
import type { Unit } from '../unit.ts';
import { createCurrentActor } from './current-actor.ts';
import { type RowProblem, rowProblemOf } from './row-results.ts';

export const INVITATION_ACTIONS = ['resend', 'revoke'] as const;

/** Invitations of one request. */
export const MAX_BULK_INVITATIONS = 1_000;

export type InvitationsRequest = { ids: number[]; action: (typeof INVITATION_ACTIONS)[number] };
type RowResult = { id: number; status: 'ok' | 'failed'; problem: RowProblem | null };
type Result = { results: RowResult[] };

/** Resends or revokes many invitations, each in a separate transaction, as bulk changes of users do. */
export const createBulkInvitations = (unit: Unit) => {
  const resultOf = async (actor: Actor, id: number, { action }: InvitationsRequest): Promise<RowResult> => {
    try {
      await createInvitationLifecycle({ ...unit, em: unit.em.fork() })[action](actor, id);
      return { id, status: 'ok', problem: null };
    } catch (error) {
      return { id, status: 'failed', problem: rowProblemOf(error) };
    }
  };
  const updateAll = async (actor: Actor, request: InvitationsRequest): Promise<Result> => {
    const currentActor = createCurrentActor(unit.em, actor);
    const results: RowResult[] = [];
    for (const [index, id] of [...new Set(request.ids)].entries())
      results.push(await resultOf(await currentActor(index), id, request));
    return { results };
  };

  return {
    /** With an idempotency key, a repeat after a crash starts again, and sends the mails of a resend once more. */
    update: (actor: Actor, request: InvitationsRequest, idempotencyKey: IdempotencyKey | null) => {
      const input = JSON.stringify(request);
      const once = idempotencyKey && { idempotencyKey, operation: 'invitations.bulkUpdate', input };
      return unit.idempotency.runOnce<Result>(actor, once, async (write) => {
        const result = await updateAll(actor, request);
        return write(async () => result);
      });
    },
  };
};
