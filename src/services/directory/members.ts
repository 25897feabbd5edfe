import { sql } from 'kysely';
import { condition, kysely } from '../../db/kysely.ts';
import { ofGroup, type Transaction } from '../audit/audit.ts';
import { closeObsoleteRequests } from '../users/request-closing.ts';
import type { ActingDirectory } from './directory-rows.ts';

/** Only rows about these people, or about this group; of the members of a group, only these people. */
type Extent = { people?: readonly string[]; group?: string };

/**
 * Makes the members of groups as the directory states them. Members whom the directory has not provisioned stay as they are. People who have
 * not accepted their invitation will join the groups with it.
 */
export const syncMembers = async (
  { tx, now, audit }: Transaction,
  { client, actor }: ActingDirectory,
  { people, group }: Extent,
): Promise<void> => {
  const isConcerned = condition`(${people === undefined ? sql`true` : sql`d.id = any(${[...people]}::varchar[])`}
    and ${group === undefined ? sql`true` : sql`g.id = ${group}`})`;
  const desired = sql`
    select g.group_id, d.user_id, d.invitation_id
    from directory_groups g join directory_members dm on dm.group_id = g.id
      join directory_people d on d.id = dm.person_id
    where g.client_id = ${client} and g.group_id is not null and not g.is_removed and not d.is_removed and ${isConcerned}`;
  const { rows } = await sql<{ group_id: number; name: string; added: number[]; removed: number[] }>`
    with desired as (${desired}),
    removed as (
      delete from group_members gm using directory_groups g, directory_people d
      where g.client_id = ${client} and g.group_id = gm.group_id and d.client_id = ${client} and d.user_id = gm.user_id
        and ${isConcerned} and not exists (
          select from desired where desired.group_id = gm.group_id and desired.user_id = gm.user_id)
      returning gm.group_id, gm.user_id),
    added as (
      insert into group_members (group_id, user_id, added_by, added_at)
      select group_id, user_id, ${actor.id}, ${now}::timestamptz from desired where user_id is not null
      on conflict do nothing returning group_id, user_id),
    withdrawn as (
      delete from invitation_groups ig using directory_groups g, directory_people d
      where g.client_id = ${client} and g.group_id = ig.group_id and d.invitation_id = ig.invitation_id
        and ${isConcerned} and not exists (
          select from desired where desired.group_id = ig.group_id and desired.invitation_id = ig.invitation_id)),
    promised as (
      insert into invitation_groups (invitation_id, group_id)
      select i.id, group_id from desired join invitations i on i.id = invitation_id and i.status = 'pending'
      on conflict do nothing)
    select groups.id as group_id, groups.name,
      array(select user_id from added where added.group_id = groups.id order by user_id) as added,
      array(select user_id from removed where removed.group_id = groups.id order by user_id) as removed
    from groups where id in (select group_id from added union select group_id from removed)
    order by groups.id`.execute(kysely(tx));
  const changed = rows.filter(({ added }) => added.length > 0);
  for (const { group_id, added } of changed) {
    const isOf = condition`(r.user_id = any(${added}::int[])
      and r.app_id in (select app_id from group_apps where group_id = ${group_id}))`;
    // Without audit entries for the requests: the group has one.
    await closeObsoleteRequests(tx, isOf, actor.id, now);
  }
  await audit.record(
    tx,
    rows.map(({ group_id: id, name, added, removed }) => ({
      action: 'group.update' as const,
      actor,
      target: ofGroup({ id, name }),
      clients: [client],
      details: { members: { added, removed } },
    })),
  );
};
