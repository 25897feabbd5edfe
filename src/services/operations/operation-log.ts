import { randomUUID } from 'node:crypto';
import { type CompiledQuery, sql } from 'kysely';
import { type Db, runStatements, tables } from '../../db/kysely.ts';
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

/** The primary key of `operation_changes`: an operation changes each user once. */
export const CHANGED_ONCE = 'operation_changes_pkey';

/**
 * The statement that records what a plan changes; none if it changes nothing that can be undone. It violates `CHANGED_ONCE` if
 * the operation has changed the user before.
 */
export const changeStatements = (
  em: Db,
  operationId: string,
  { values, isActive, after }: UpdatePlan,
  now: Date,
): CompiledQuery[] => {
  const { id: userId, granted, revoked, joined } = values;
  if (granted.length + revoked.length + joined.length === 0 && isActive === null) return [];
  const changedAt = (isActive === null ? null : lastChange(isActive, after)) ?? now;
  return [
    sql`
      insert into operation_changes (operation_id, user_id, granted, revoked, joined, is_active, changed_at)
      values (${operationId}, ${userId}, ${granted}::varchar[], ${revoked}::varchar[], ${joined}::int[],
        ${isActive}::boolean, ${changedAt})`.compile(tables(em)),
  ];
};

const lastChange = (isActive: boolean, { last_activated, last_deactivated }: UpdatePlan['after']) =>
  isActive ? last_activated : last_deactivated;

/** Those of these addresses whose user the operation has changed, or to which it has sent a mail. */
export const findDone = async (
  em: Db,
  operationId: string,
  emails: readonly string[],
): Promise<Set<string>> => {
  const { rows } = await sql<{ email: string }>`
    select email from users where email = any(${[...emails]}::varchar[]) and id in (
      select user_id from operation_changes where operation_id = ${operationId})
    union select recipient from outbox_mails
      where operation_id = ${operationId} and recipient = any(${[...emails]}::varchar[])`.execute(tables(em));
  return new Set(rows.map(({ email }) => email));
};

/** What something changes of a locked user: ids of granted and revoked apps, and of the clients that it gives access to. */
export type Decision = { userId: number; apps: readonly string[]; clients: readonly number[] };

/**
 * The statement that keeps the undo of earlier operations from overriding these decisions; none without any. Without it, a grant
 * that was revoked and given again would look like the one of the operation.
 */
export const supersedeStatements = (em: Db, decisions: readonly Decision[]): CompiledQuery[] => {
  const rows = decisions.filter(({ apps, clients }) => apps.length + clients.length > 0);
  if (rows.length === 0) return [];
  return [
    sql`
      update operation_changes c set
        granted = array(select unnest(c.granted) except select unnest(decision.apps)),
        revoked = array(select unnest(c.revoked) except select unnest(decision.apps)),
        joined = array(select unnest(c.joined) except select unnest(decision.clients)),
        superseded = array(select unnest(c.superseded)
          union (select unnest(c.granted || c.revoked) intersect select unnest(decision.apps)))
      from json_to_recordset(${JSON.stringify(rows)}::json) as decision ("userId" int, apps varchar[], clients int[])
      where c.user_id = decision."userId" and c.undone is null
        and (c.granted && decision.apps or c.revoked && decision.apps or c.joined && decision.clients)`.compile(
      tables(em),
    ),
  ];
};

/** Runs `supersedeStatements`. The users must be locked. */
export const supersedeOperations = (tx: Db, decisions: readonly Decision[]): Promise<void> =>
  runStatements(tx, supersedeStatements(tx, decisions));
