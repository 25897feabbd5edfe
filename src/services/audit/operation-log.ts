import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { type EndedPart, type GrantTerms, Operation } from '../../../entities/operation.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';

/** How long an operation can be continued and undone, in minutes. */
const UNDO_MINUTES = 10;

/** @param change the change of the operation, as text */
export const startOperation = async (em: Em, actor: Actor, change: string, now: Date) => {
  const id = randomUUID();
  em.create(Operation, { id, userId: actor.id, confinedTo: actor.scope.only, change, startedAt: now });
  await em.flush();
  return { id, undoUntil: undoEnd(now) };
};

/**
 * The actor's own operation, if it can still be undone.
 * @throws Problem `not-found`, `undo-expired`
 */
export const readOperation = async (em: Em, actor: Actor, id: string, now: Date) => {
  const found = await kysely(em)
    .selectFrom('operations')
    .select(['id', 'change', 'started_at as startedAt'])
    .where('id', '=', id)
    .where('user_id', '=', actor.id)
    .where(condition`confined_to is not distinct from ${actor.scope.only}::int`)
    .executeTakeFirstOrThrow(() => notFound('operation'));
  const undoUntil = undoEnd(found.startedAt);
  if (now > undoUntil) throw new Problem('undo-expired');
  return { ...found, undoUntil };
};

const undoEnd = (startedAt: Date): Date => new Date(startedAt.getTime() + UNDO_MINUTES * MINUTE_MS);

/** The primary key of `operation_changes`: an operation changes each user once. */
export const CHANGED_ONCE = 'operation_changes_pkey';

/** `terms`: who granted it, until when and why. Default: the actor, without an end. */
export type GrantableApp = { id: string; client_id: number; terms?: GrantTerms | undefined };

/** The changes to the access of a locked user. */
export type AccessChange = {
  userId: number;
  granted: readonly GrantableApp[];
  revoked: readonly GrantableApp[];
  /** Ids of clients of which the user becomes a member. */
  joined: readonly number[];
};

/**
 * The changes of an update that can be undone. `isActive`: the new value; null if it did not change. `membersOf`: ids of the clients in
 * whose memberships it was set; empty if it was set in the account.
 */
export type UndoableChange = AccessChange & {
  isActive: boolean | null;
  membersOf: readonly number[];
  /** Ids of the groups that the user joined. */
  groups?: readonly number[];
  /** What an offboarding has ended in addition to grants. */
  ended?: readonly EndedPart[];
};

export const idsOf = (apps: readonly { id: string }[]): string[] => apps.map(({ id }) => id);

/** Records changes of an operation, at the time `now`. Violates `CHANGED_ONCE` if the operation has changed a user before. */
export const recordChanges = async (
  tx: Em,
  operationId: string,
  changes: readonly UndoableChange[],
  now: Date,
): Promise<void> => {
  const rows = changes
    .map((change) => ({ groups: [], ended: [], ...change }))
    .filter(
      ({ isActive, granted, revoked, joined, groups, ended }) =>
        isActive !== null || [granted, revoked, joined, groups, ended].some((list) => list.length > 0),
    )
    .map((change) => ({
      ...change,
      granted: idsOf(change.granted),
      revoked: idsOf(change.revoked),
      terms: Object.fromEntries(change.revoked.map(({ id, terms }) => [id, terms])),
      ended: change.ended.length > 0 ? change.ended : null,
    }));
  if (rows.length === 0) return;
  await sql`
    insert into operation_changes
      (operation_id, user_id, granted, revoked, revoked_terms, joined, groups, is_active, members_of, ended,
        changed_at)
    select ${operationId}::uuid, "userId", granted, revoked, terms, joined, groups, "isActive", "membersOf", ended,
      ${now}::timestamptz
    from json_to_recordset(${JSON.stringify(rows)}::json) as changed
      ("userId" int, granted varchar[], revoked varchar[], terms json, joined int[], groups int[],
        "isActive" boolean, "membersOf" int[], ended json)`.execute(kysely(tx));
};

/** The addresses among these whose user the operation has changed or mailed. Without users whom the actor no longer sees. */
export const findDone = async (em: Em, actor: Actor, operationId: string, emails: readonly string[]) => {
  const changed = kysely(em)
    .selectFrom('users')
    .select('email')
    .where(isAnyOf('email', emails, 'varchar'))
    .where(userVisibleTo(actor))
    .where(condition`id in (select user_id from operation_changes where operation_id = ${operationId})`);
  const mailed = kysely(em)
    .selectFrom('outbox_mails')
    .leftJoin('users', 'users.id', 'outbox_mails.user_id')
    .select('recipient as email')
    .where('operation_id', '=', operationId)
    .where(isAnyOf('recipient', emails, 'varchar'))
    .where(condition`(users.id is null or ${userVisibleTo(actor)})`);
  const rows = await changed.union(mailed).execute();
  return new Set(rows.map(({ email }) => email));
};

/** The key of a role in a client, for the parts that an offboarding has ended. */
export const clientRoleKey = (name: string, clientId: number): string => `${name}:${clientId}`;

/** The client of such a key. */
export const clientOfRole = (key: string): number => Number(key.slice(key.lastIndexOf(':') + 1));
