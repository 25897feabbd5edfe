import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { Operation, OperationChange } from '../../../entities/operation.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';

/** How long an operation can be continued and undone, in minutes. */
const UNDO_MINUTES = 10;

/** @param change what the operation changes, as text */
export const startOperation = async (em: Em, actor: Actor, change: string, now: Date) => {
  const id = randomUUID();
  em.create(Operation, { id, userId: actor.id, change, startedAt: now });
  await em.flush();
  return { id, undoUntil: undoEnd(now) };
};

/**
 * The actor's own operation, while it can be undone.
 * @throws Problem `not-found`, `undo-expired`
 */
export const readOperation = async (em: Em, actor: Actor, id: string, now: Date) => {
  const found = await kysely(em)
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

/** What an update has changed that can be undone: ids of apps, and of the clients that the user has joined by it. */
export type UndoableChange = {
  userId: number;
  granted: string[];
  revoked: string[];
  joined: number[];
  /** The new value; null if it did not change. */
  isActive: boolean | null;
};

/** Records a change of an operation, at the time `now` of the change. It violates `CHANGED_ONCE` if the operation has changed the user before. */
export const recordChange = async (
  tx: Em,
  operation: string,
  { userId: user, ...change }: UndoableChange,
  now: Date,
): Promise<void> => {
  const { granted, revoked, joined, isActive } = change;
  if (granted.length + revoked.length + joined.length === 0 && isActive === null) return;
  tx.create(OperationChange, { operation, user, ...change, changedAt: now });
  await tx.flush();
};

/** Those of these addresses whose user the operation has changed, or to which it has sent a mail. */
export const findDone = async (
  em: Em,
  operationId: string,
  emails: readonly string[],
): Promise<Set<string>> => {
  const { rows } = await sql<{ email: string }>`
    select email from users where email = any(${[...emails]}::varchar[]) and id in (
      select user_id from operation_changes where operation_id = ${operationId})
    union select recipient from outbox_mails
      where operation_id = ${operationId} and recipient = any(${[...emails]}::varchar[])`.execute(kysely(em));
  return new Set(rows.map(({ email }) => email));
};

/** What a change does to a locked user: ids of granted and revoked apps, and of the clients that it gives access to. */
export type Decision = { userId: number; apps: readonly string[]; clients: readonly number[] };

/**
 * Keeps the undo of earlier operations from overriding these decisions about locked users. Without it, a grant that was revoked and
 * given again would look like the one of the operation.
 */
export const supersedeOperations = async (tx: Em, decisions: readonly Decision[]): Promise<void> => {
  const rows = decisions.filter(({ apps, clients }) => apps.length + clients.length > 0);
  if (rows.length === 0) return;
  await sql`
    update operation_changes c set
      granted = array(select unnest(c.granted) except select unnest(decision.apps)),
      revoked = array(select unnest(c.revoked) except select unnest(decision.apps)),
      joined = array(select unnest(c.joined) except select unnest(decision.clients)),
      superseded = array(select unnest(c.superseded)
        union (select unnest(c.granted || c.revoked) intersect select unnest(decision.apps)))
    from json_to_recordset(${JSON.stringify(rows)}::json) as decision ("userId" int, apps varchar[], clients int[])
    where c.user_id = decision."userId" and c.undone is null
      and (c.granted && decision.apps or c.revoked && decision.apps or c.joined && decision.clients)`.execute(
    kysely(tx),
  );
};
