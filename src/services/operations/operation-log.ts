import { randomUUID } from 'node:crypto';
import { type CompiledQuery, sql } from 'kysely';
import { type Db, prepared, tables } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import type { UpdatePlan } from '../users/update-plan.ts';

/** How long an operation can be continued and undone, in minutes. */
export const UNDO_MINUTES = 10;

export type Operation = { id: string; startedAt: Date; undoUntil: Date };

/** @param change what the operation changes, as text */
export const startOperation = async (em: Db, actor: Actor, change: string, now: Date): Promise<Operation> => {
  const id = randomUUID();
  await tables(em)
    .insertInto('operations')
    .values({ id, user_id: actor.id, change, started_at: now })
    .execute();
  return { id, startedAt: now, undoUntil: undoEnd(now) };
};

/**
 * The actor's own operation, while it can be undone.
 * @throws Problem `not-found`, `undo-expired`
 */
export const readOperation = async (em: Db, actor: Actor, id: string, now: Date) => {
  const found = await tables(em)
    .selectFrom('operations')
    .select(['id', 'change', 'started_at as startedAt'])
    .where('id', '=', id)
    .where('user_id', '=', actor.id)
    .executeTakeFirstOrThrow(() => notFound('operation'));
  const undoUntil = undoEnd(found.startedAt);
  if (now > undoUntil) throw new Problem('undo-expired');
  return { ...found, undoUntil };
};

const undoEnd = (startedAt: Date): Date => new Date(startedAt.getTime() + UNDO_MINUTES * MINUTE_MS);

/** The statement that records what a plan changes; none if it changes nothing that can be undone. */
export const changeStatements = (
  em: Db,
  operationId: string,
  { values, isActive, after }: UpdatePlan,
  now: Date,
): CompiledQuery[] => {
  const { id: userId, granted, revoked, joined } = values;
  if (granted.length + revoked.length + joined.length === 0 && isActive === null) return [];
  const changedAt = (isActive === null ? null : lastChange(isActive, after)) ?? now;
  return [INSERT_CHANGE.bound(em, { operationId, userId, granted, revoked, joined, isActive, changedAt })];
};

const lastChange = (isActive: boolean, { last_activated, last_deactivated }: UpdatePlan['after']) =>
  isActive ? last_activated : last_deactivated;

type RecordedChange = {
  operationId: string;
  userId: number;
  granted: string[];
  revoked: string[];
  joined: number[];
  isActive: boolean | null;
  changedAt: Date;
};

/** Keeps what an earlier request of the same operation has recorded: it made the same change. */
const INSERT_CHANGE = prepared((db, to: RecordedChange) => ({
  compile: () =>
    sql`
      insert into operation_changes (operation_id, user_id, granted, revoked, joined, is_active, changed_at)
      values (${to.operationId}, ${to.userId}, ${to.granted}::varchar[], ${to.revoked}::varchar[], ${to.joined}::int[],
        ${to.isActive}::boolean, ${to.changedAt})
      on conflict do nothing`.compile(db),
}));
