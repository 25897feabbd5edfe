import { sql } from 'kysely';
import type { UndoneChange } from '../../../entities/operation.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { lockVisibleUser } from '../users/user-locks.ts';
import { updateUser } from '../users/user-update.ts';
import { createCurrentActor, type RowProblem, rowProblemOf } from './bulk-rows.ts';
import { readOperation, type UndoableChange } from './operation-log.ts';

/** What was not undone. `app_id` is null for the activation of the user. */
export type SkippedChange = { email: string; app_id: string | null; problem: RowProblem };

/** What all requests so far have undone. */
type UndoResult = {
  operation: string;
  reverted: number;
  skipped: SkippedChange[];
  is_finished: boolean;
};

/** Users of one request. */
const MAX_USERS = 1_000;

const CHANGED_SINCE: RowProblem = {
  code: 'changed-since',
  detail: 'It was changed again after the operation.',
};

/** Undoes changes of many users. */
export const createOperations = (unit: UnitOfWork) => {
  const { em, clock, audit, idempotency } = unit;

  /** The user is locked before the change, in the same order as by all others that change a user. */
  const undoUser = (actor: Actor, id: string, { user_id: userId, email }: Changed): Promise<void> =>
    em.fork().transactional(async (tx) => {
      await lockVisibleUser(tx, actor, email);
      const change = await lockChange(tx, id, userId);
      if (!change) return; // another request has undone it
      const is_active = (await isAsLeft(tx, change)) ? !change.is_active : undefined;
      const changes = { grant: change.revoked, revoke: change.granted, is_active };
      const tagged = audit.withDetails({ operation: id, is_undo: true });
      const unitOfWork = { tx, now: clock.now(), audit: tagged };
      const { undoable } = await updateUser(unitOfWork, actor, email, changes);
      await leaveClients(change).execute(kysely(tx));
      await recordUndone(tx, id, userId, undoneBy(undoable, change));
    });

  const refuse = (id: string, { user_id: userId }: Changed, problem: RowProblem): Promise<void> =>
    em.transactional(async (tx) => {
      const change = await lockChange(tx, id, userId);
      if (!change) return;
      const skipped = changesIn(change).map((app_id) => ({ app_id, problem }));
      await recordUndone(tx, id, userId, { reverted: 0, skipped });
    });

  const undo = async (actor: Actor, id: string): Promise<UndoResult> => {
    await readOperation(em, actor, id, clock.now());
    const users = await changedUsers(em, id);
    const currentActor = createCurrentActor(em, actor);
    for (const [index, user] of users.entries()) {
      await undoUser(await currentActor(index), id, user).catch((error: unknown) =>
        refuse(id, user, rowProblemOf(error)),
      );
    }
    return { operation: id, ...(await readOutcome(em, id)) };
  };

  return {
    /**
     * Reverts what is still as the actor's operation left it, of up to `MAX_USERS` users. A repeat returns the same, or
     * continues if there are more users or the first request was interrupted.
     * @throws Problem `not-found`, `undo-expired`
     */
    undo: (actor: Actor, id: string, idempotencyKey: IdempotencyKey | null): Promise<UndoResult> => {
      const once = idempotencyKey && { idempotencyKey, operation: 'operations.undo', input: id };
      return idempotency.runOnce<UndoResult>(actor, once, async (write) => {
        const result = await undo(actor, id);
        return write(async () => result);
      });
    },
  };
};

/** Users whose change is to be undone. */
const changedUsers = (em: Em, id: string) =>
  kysely(em)
    .selectFrom('operation_changes as change')
    .innerJoin('users', 'users.id', 'change.user_id')
    .select(['change.user_id', 'users.email'])
    .where('change.operation_id', '=', id)
    .where('change.undone', 'is', null)
    .orderBy('change.user_id')
    .limit(MAX_USERS)
    .execute();

type Changed = Awaited<ReturnType<typeof changedUsers>>[number];

/** Locks a change that was not undone. */
const lockChange = (tx: Em, id: string, userId: number) =>
  kysely(tx)
    .selectFrom('operation_changes')
    .select(['user_id', 'granted', 'revoked', 'superseded', 'joined', 'is_active', 'changed_at'])
    .where('operation_id', '=', id)
    .where('user_id', '=', userId)
    .where('undone', 'is', null)
    .forUpdate()
    .executeTakeFirst();

type Change = NonNullable<Awaited<ReturnType<typeof lockChange>>>;

/** Nothing is left to undo, whichever version of the service tries. */
const recordUndone = async (tx: Em, id: string, userId: number, undone: UndoneChange): Promise<void> => {
  await sql`
    update operation_changes set undone = ${JSON.stringify(undone)}::json,
      granted = '{}', revoked = '{}', superseded = '{}', joined = '{}', is_active = null
    where operation_id = ${id} and user_id = ${userId}`.execute(kysely(tx));
};

const readOutcome = async (em: Em, id: string): Promise<Omit<UndoResult, 'operation'>> => {
  const changes = kysely(em)
    .selectFrom('operation_changes as change')
    .innerJoin('users', 'users.id', 'change.user_id')
    .where('change.operation_id', '=', id);
  const { reverted, is_finished } = await changes
    .select([
      sql<number>`coalesce(sum((change.undone ->> 'reverted')::int), 0)::int`.as('reverted'),
      condition`coalesce(bool_and(change.undone is not null), true)`.as('is_finished'),
    ])
    .executeTakeFirstOrThrow();
  const rows = await changes
    .select(['users.email', 'change.undone'])
    .where(condition`json_array_length(change.undone -> 'skipped') > 0`)
    .orderBy('change.user_id')
    .execute();
  const skipped = rows.flatMap(({ email, undone }) =>
    (undone?.skipped ?? []).map((change) => ({ email, ...change })),
  );
  return { reverted, skipped, is_finished };
};

/** Whether the operation was the last to activate or deactivate the locked user. */
const isAsLeft = async (tx: Em, { user_id, is_active, changed_at }: Change): Promise<boolean> => {
  if (is_active === null) return false;
  const found = await kysely(tx)
    .selectFrom('users')
    .select('id')
    .where('id', '=', user_id)
    .where('is_active', '=', is_active)
    .where(is_active ? 'last_activated' : 'last_deactivated', '=', changed_at)
    .executeTakeFirst();
  return found !== undefined;
};

/** Ends the memberships that the operation began, except those that another app needs by now. */
const leaveClients = ({ user_id, joined }: Change) => sql`
  delete from memberships m where m.user_id = ${user_id} and m.client_id = any(${joined}::int[]) and not m.is_admin
    and not exists (select from app_grants g join apps a on a.id = g.app_id
      where g.user_id = m.user_id and a.client_id = m.client_id)`;

/** The ids of the apps, and null for the activation. */
const changesIn = ({ granted, revoked, superseded, is_active }: Change): (string | null)[] => [
  ...granted,
  ...revoked,
  ...superseded,
  ...(is_active === null ? [] : [null]),
];

const undoneBy = ({ granted, revoked, isActive }: UndoableChange, change: Change): UndoneChange => {
  const reverted = new Set<string | null>([...granted, ...revoked]);
  if (isActive !== null) reverted.add(null);
  const left = changesIn(change).filter((id) => !reverted.has(id));
  return { reverted: reverted.size, skipped: left.map((app_id) => ({ app_id, problem: CHANGED_SINCE })) };
};
