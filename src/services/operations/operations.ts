import { sql } from 'kysely';
import { type Db, pipelineIn, tables } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { Unit } from '../unit.ts';
import type { UpdatePlan } from '../users/update-plan.ts';
import { lockVisibleUser } from '../users/user-locks.ts';
import { updateUser } from '../users/user-update.ts';
import { createCurrentActor } from './current-actor.ts';
import { readOperation } from './operation-log.ts';
import { type RowProblem, rowProblemOf } from './row-results.ts';

/** What was not undone. `app_id` is null for the activation of the user. */
export type SkippedChange = { email: string; app_id: string | null; problem: RowProblem };

export type UndoResult = {
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
export const createOperations = (unit: Unit) => {
  const { em, clock, audit, idempotency } = unit;

  const undoUser = (actor: Actor, id: string, row: ChangeRow): Promise<Undone> =>
    em.fork().transactional(async (tx) => {
      // Waits for another request that undoes the same.
      if (!(await removeChange(tx, id, row.user_id))) return NOTHING;
      const is_active = (await isAsLeft(tx, actor, row)) ? !row.is_active : undefined;
      const changes = { grant: row.revoked, revoke: row.granted, is_active };
      const unitOfWork = { em: tx, pipeline: pipelineIn(tx), now: clock.now() };
      const tagged = audit.withDetails({ operation: id, is_undo: true });
      const plan = await updateUser({ ...unitOfWork, audit: tagged }, actor, row.email, changes, (unit) => [
        leaveClients(row).compile(tables(unit)),
      ]);
      return undoneBy(plan, row);
    });

  const undo = async (actor: Actor, id: string): Promise<UndoResult> => {
    await readOperation(em, actor, id, clock.now());
    const changes = await changesOf(em, id);
    const rows = changes.slice(0, MAX_USERS);
    const result: UndoResult = {
      operation: id,
      reverted: 0,
      skipped: [],
      is_finished: changes.length <= MAX_USERS,
    };
    const currentActor = createCurrentActor(em, actor);
    for (const [index, row] of rows.entries()) {
      const undone = await undoUser(await currentActor(index), id, row).catch(async (error: unknown) => {
        const problem = rowProblemOf(error);
        await removeChange(em, id, row.user_id);
        return { reverted: 0, skipped: changesIn(row).map((app_id) => skip(row, app_id, problem)) };
      });
      result.reverted += undone.reverted;
      result.skipped.push(...undone.skipped);
    }
    return result;
  };

  return {
    /**
     * Reverts what is still as the actor's operation left it, and reports the rest once.
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

type Undone = Pick<UndoResult, 'reverted' | 'skipped'>;
const NOTHING: Undone = { reverted: 0, skipped: [] };

const changesOf = (em: Db, id: string) =>
  tables(em)
    .selectFrom('operation_changes as change')
    .innerJoin('users', 'users.id', 'change.user_id')
    .select(['change.user_id', 'users.email', 'change.granted', 'change.revoked', 'change.joined'])
    .select(['change.is_active', 'change.changed_at'])
    .where('change.operation_id', '=', id)
    .orderBy('change.user_id')
    .limit(MAX_USERS + 1)
    .execute();

type ChangeRow = Awaited<ReturnType<typeof changesOf>>[number];

const removeChange = async (em: Db, id: string, userId: number): Promise<boolean> => {
  const { numDeletedRows } = await tables(em)
    .deleteFrom('operation_changes')
    .where('operation_id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
};

/** Locks the user, and returns whether the operation was the last to activate or deactivate them. */
const isAsLeft = async (tx: Db, actor: Actor, row: ChangeRow): Promise<boolean> => {
  if (row.is_active === null) return false;
  const id = await lockVisibleUser(tx, actor, row.email);
  const found = await tables(tx)
    .selectFrom('users')
    .select('id')
    .where('id', '=', id)
    .where('is_active', '=', row.is_active)
    .where(row.is_active ? 'last_activated' : 'last_deactivated', '=', row.changed_at)
    .executeTakeFirst();
  return found !== undefined;
};

/** Ends the memberships that the operation began, except those that another app needs by now. */
const leaveClients = ({ user_id, joined }: ChangeRow) => sql`
  delete from memberships m where m.user_id = ${user_id} and m.client_id = any(${joined}::int[]) and not m.is_admin
    and not exists (select from app_grants g join apps a on a.id = g.app_id
      where g.user_id = m.user_id and a.client_id = m.client_id)`;

/** The ids of the apps, and null for the activation. */
const changesIn = ({ granted, revoked, is_active }: ChangeRow): (string | null)[] => [
  ...granted,
  ...revoked,
  ...(is_active === null ? [] : [null]),
];

const skip = ({ email }: ChangeRow, app_id: string | null, problem: RowProblem): SkippedChange => ({
  email,
  app_id,
  problem,
});

const undoneBy = ({ values, isActive }: UpdatePlan, row: ChangeRow): Undone => {
  const reverted = new Set<string | null>([...values.granted, ...values.revoked]);
  if (isActive !== null) reverted.add(null);
  const left = changesIn(row).filter((change) => !reverted.has(change));
  return { reverted: reverted.size, skipped: left.map((app_id) => skip(row, app_id, CHANGED_SINCE)) };
};
