import { sql } from 'kysely';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { type FieldErrors, invalid } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { isAllowedIn } from '../access/visibility.ts';
import { ofGroup, type Transaction } from '../audit/audit.ts';
import { closeRequestsOf } from './request-closing.ts';

type Person = { id: number; email: string };
type Group = { id: number; client: number; name: string };

/** @throws Problem `invalid-input` on `groups`, with an error for each group that the actor does not manage */
export const requireGroups = async (em: Em, actor: Actor, ids: readonly number[]): Promise<void> => {
  const groups = await managedGroups(em, actor, ids).execute();
  const unknown = ids.filter((id) => !groups.some((group) => group.id === id));
  if (unknown.length > 0) throw invalid({ groups: unknown.map((id) => `You do not manage a group ${id}.`) });
};

/** Locks groups before one of their members, in the order of changes of a group. Groups that no longer exist are skipped. */
export const lockGroups = (tx: Em, actor: Actor, ids: readonly number[]): Promise<Group[]> =>
  managedGroups(tx, actor, ids).orderBy('id').forKeyShare().execute();

/**
 * Adds a locked user to locked groups. Returns the ids of the groups that the user was not in.
 * @throws Problem `invalid-input` on `groups` of clients that the user does not belong to
 */
export const joinGroups = async (
  { tx, now, audit }: Transaction,
  actor: Actor,
  user: Person & { clientIds: readonly number[] },
  groups: readonly Group[],
): Promise<number[]> => {
  const foreign = groups.filter(({ client }) => !user.clientIds.includes(client));
  const errors: FieldErrors = { groups: foreign.map(({ name }) => `Not a member of the client of ${name}.`) };
  if (foreign.length > 0) throw invalid(errors);
  const ids = groups.map(({ id }) => id);
  const joined = await addToGroups(tx, { userId: user.id, by: actor.id, now }, ids);
  const closed = await closeRequestsOf(tx, actor, user.id, now);
  await audit.record(tx, [
    ...groupEvents(actor, groupsOf(groups, joined), { added: [user.id], removed: [] }),
    ...closed,
  ]);
  return joined;
};

type Joining = {
  userId: number;
  /** Null for a login at a provider. */
  by: number | null;
  now: Date;
};

/** Adds a locked user to groups. Returns the ids of the groups that the user was not in. */
export const addToGroups = async (tx: Em, { userId, by, now }: Joining, ids: readonly number[]) => {
  if (ids.length === 0) return [];
  const rows = await kysely(tx)
    .insertInto('group_members')
    .values(ids.map((id) => ({ group_id: id, user_id: userId, added_by: by, added_at: now })))
    .onConflict((conflict) => conflict.doNothing())
    .returning('group_id')
    .execute();
  return rows.map(({ group_id }) => group_id);
};

/** Removes a locked user from groups. Returns the ids of the groups that the user was in. */
export const leaveGroups = async (
  { tx, audit }: Transaction,
  actor: Actor,
  user: Person,
  groups: readonly Group[],
): Promise<number[]> => {
  const ids = groups.map(({ id }) => id);
  const rows = await kysely(tx)
    .deleteFrom('group_members')
    .where('user_id', '=', user.id)
    .where(isAnyOf('group_id', ids, 'int'))
    .returning('group_id')
    .execute();
  const left = rows.map(({ group_id }) => group_id);
  await audit.record(tx, groupEvents(actor, groupsOf(groups, left), { added: [], removed: [user.id] }));
  return left;
};

const managedGroups = (em: Em, actor: Actor, ids: readonly number[]) =>
  kysely(em)
    .selectFrom('groups')
    .select(['id', 'client_id as client', 'name'])
    .where(isAnyOf('id', ids, 'int'))
    .where(isAllowedIn(sql`client_id`, actor, 'manage-people'));

/** The groups with these ids. */
export const groupsOf = (groups: readonly Group[], ids: readonly number[]) =>
  groups.filter(({ id }) => ids.includes(id));

/** Audit events, one per group. @param actor null: a provider */
export const groupEvents = (
  actor: Actor | null,
  groups: readonly Group[],
  members: { added: number[]; removed: number[] },
) =>
  groups.map(({ id, name, client }) => ({
    action: 'group.update' as const,
    actor,
    target: ofGroup({ id, name }),
    clients: [client],
    details: { members },
  }));
