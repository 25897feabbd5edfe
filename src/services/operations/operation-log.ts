import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { type EndedPart, type GrantTerms, Operation } from '../../../entities/operation.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { CLIENT_ROLES, type ClientRole } from '../access/permissions.ts';
import { userVisibleTo } from '../access/visibility.ts';

/** How long an operation can be continued and undone, in minutes. */
const UNDO_MINUTES = 10;

/** @param change what the operation changes, as text */
export const startOperation = async (em: Em, actor: Actor, change: string, now: Date) => {
  const id = randomUUID();
  em.create(Operation, { id, userId: actor.id, confinedTo: actor.scope.only, change, startedAt: now });
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
    .where(condition`confined_to is not distinct from ${actor.scope.only}::int`)
    .executeTakeFirstOrThrow(() => notFound('operation'));
  const undoUntil = undoEnd(found.startedAt);
  if (now > undoUntil) throw new Problem('undo-expired');
  return { ...found, undoUntil };
};

const undoEnd = (startedAt: Date): Date => new Date(startedAt.getTime() + UNDO_MINUTES * MINUTE_MS);

/** The primary key of `operation_changes`: an operation changes each user once. */
export const CHANGED_ONCE = 'operation_changes_pkey';

/** `terms`: who granted it, until when and why. By default the actor, without an end. */
export type GrantableApp = { id: string; client_id: number; terms?: GrantTerms | undefined };

/** What a change does to the access of a locked user. */
export type AccessChange = {
  userId: number;
  granted: readonly GrantableApp[];
  revoked: readonly GrantableApp[];
  /** Ids of clients of which the user becomes a member. */
  joined: readonly number[];
};

/**
 * What an update has changed that can be undone. `isActive`: the new value; null if it did not change. `membersOf`: ids of the clients
 * whose memberships have it; empty if the account has it.
 */
export type UndoableChange = AccessChange & {
  isActive: boolean | null;
  membersOf: readonly number[];
  /** Ids of the groups that the user joined. */
  groups?: readonly number[];
  /** What an offboarding has ended beside grants. */
  ended?: readonly EndedPart[];
};

export const idsOf = (apps: readonly { id: string }[]): string[] => apps.map(({ id }) => id);

/** Records changes of an operation, at the time `now`. It violates `CHANGED_ONCE` if the operation has changed a user before. */
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

/** Those of these addresses whose user the operation has changed or mailed. Without users whom the actor does not see any more. */
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

/**
 * Keeps the undo of earlier operations from overriding these changes. Without it, a grant that was revoked and given again would look
 * like the one of the operation.
 */
export const supersedeOperations = async (tx: Em, changes: readonly AccessChange[]): Promise<void> => {
  const rows = changes.map(({ userId, granted, revoked, joined }) => ({
    userId,
    apps: idsOf([...granted, ...revoked]),
    clients: [...joined, ...granted.map((app) => app.client_id)],
  }));
  await sql`
    update operation_changes c set
      granted = array(select unnest(c.granted) except select unnest(decision.apps)),
      revoked = array(select unnest(c.revoked) except select unnest(decision.apps)),
      joined = array(select unnest(c.joined) except select unnest(decision.clients)),
      superseded = array(select unnest(c.superseded)
        union (select unnest(c.granted || c.revoked) intersect select unnest(decision.apps)))
    from json_to_recordset(${JSON.stringify(rows)}::json) as decision ("userId" int, apps varchar[], clients int[])
    where c.user_id = decision."userId" and c.undone is null
      and (c.granted && decision.apps or c.revoked && decision.apps
        or c.joined && decision.clients)`.execute(kysely(tx));
};

/**
 * Keeps the undo of earlier offboardings from giving back what someone has decided about since.
 * @param keys all of the kind without it
 */
export const supersedeEnded = async (
  tx: Em,
  userIds: readonly number[],
  kind: EndedPart['kind'],
  keys?: readonly (string | number)[],
): Promise<void> => {
  const isKey = keys ? condition`part ->> 'key' = any(${keys.map(String)}::text[])` : sql`true`;
  await sql`
    update operation_changes c set ended = (
      select json_agg(case when part ->> 'kind' = ${kind} and ${isKey}
        then part || '{"is_superseded": true}' else part end)
      from jsonb_array_elements(c.ended::jsonb) as part)
    where c.user_id = any(${[...userIds]}::int[]) and c.undone is null
      and c.ended is not null`.execute(kysely(tx));
};

const ROLE_KINDS: readonly EndedPart['kind'][] = ['role', 'client-role'];

/** The same for all roles of a user. */
export const supersedeRoles = async (tx: Em, userId: number): Promise<void> => {
  for (const kind of ROLE_KINDS) await supersedeEnded(tx, [userId], kind);
};

/** The key of a role in a client among the parts that an offboarding has ended. */
export const clientRoleKey = ({ name }: ClientRole, clientId: number): string => `${name}:${clientId}`;

/** The same for these roles of a user in a client, by default all. */
export const supersedeClientRoles = (
  tx: Em,
  userId: number,
  clientId: number,
  roles: readonly ClientRole[] = CLIENT_ROLES,
): Promise<void> =>
  supersedeEnded(
    tx,
    [userId],
    'client-role',
    roles.map((role) => clientRoleKey(role, clientId)),
  );

/** Keeps others from undoing the deactivation of a user, and the roles that ended with it, after the actor has decided the same. */
export const supersedeDeactivations = async (tx: Em, userId: number, actorId: number): Promise<void> => {
  await sql`
    update operation_changes c set is_active_superseded = true, ended = (
      select json_agg(case when part ->> 'kind' = any(${[...ROLE_KINDS]}::text[])
        then part || '{"is_superseded": true}' else part end)
      from jsonb_array_elements(c.ended::jsonb) as part)
    from operations o
    where o.id = c.operation_id and o.user_id <> ${actorId} and c.user_id = ${userId} and c.undone is null
      and c.members_of = '{}' and c.is_active is distinct from true`.execute(kysely(tx));
};
