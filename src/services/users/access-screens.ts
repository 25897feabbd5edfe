import { sql } from 'kysely';
import { kysely } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import {
  clientVisibleTo,
  GROUP_ACCESS,
  LIVE_GRANTS,
  opensByRole,
  strongestRole,
  userClientVisibleTo,
} from '../access/visibility.ts';
import { readClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { createAccessMatrix } from './access-matrix.ts';
import { addressOf, readUserId } from './addresses.ts';
import { readGrants, type UserGrant } from './grants.ts';
import { readGroup } from './groups.ts';
import type { Listing } from './users.ts';

type AppRow = {
  id: string;
  label: string;
  client: number;
  /** The strongest role that gives the app: `superuser`, `staff` or `client-admin`. */
  role: string | null;
  /** Ids of the groups that give it. */
  groups: number[];
};

/** An app of a client of the person, and how the person has it. */
export type PersonApp = AppRow & { grant: UserGrant | null };

/** A group of a client of the person. */
export type PersonGroup = {
  id: number;
  client: number;
  name: string;
  apps: string[];
  is_member: boolean;
  /** When the person was added, and by whom. Null if they are no member, or it was not recorded. */
  added_at: Date | null;
  added_by: string | null;
};

/** What the console shows of access to apps. */
export const createAccessScreens = ({ em, ...unit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => ({
  /**
   * All apps of the clients of a person, also those that they cannot open, and all groups.
   * @throws Problem `not-found`
   */
  ofPerson: async (actor: Actor, email: string): Promise<{ apps: PersonApp[]; groups: PersonGroup[] }> => {
    const id = await readUserId(em, actor, email);
    const [apps, grants, groups] = await Promise.all([
      appsOf(actor, id).execute(kysely(em)),
      readGrants(em, actor, { id, email }),
      groupsOf(actor, id).execute(kysely(em)),
    ]);
    const grantOf = new Map(grants.map((grant) => [grant.app, grant]));
    return {
      apps: apps.rows.map((app) => ({ ...app, grant: grantOf.get(app.id) ?? null })),
      groups: groups.rows,
    };
  },

  /**
   * A group with its members by name. `losses`: how many people would lose which of its apps with the group.
   * @throws Problem `not-found`
   */
  ofGroup: async (actor: Actor, clientId: number, id: number) => {
    await readClient(em, actor, clientId);
    const group = await readGroup(em, clientId, id);
    const [members, losses] = await Promise.all([
      membersOf(id).execute(kysely(em)),
      lossesOf(id).execute(kysely(em)),
    ]);
    return { ...group, members: members.rows, losses: losses.rows };
  },

  /**
   * A page of the access matrix, with the groups of the client, those of each person, and the ends of grants.
   * @throws Problem as `read` of the matrix
   */
  grid: async (actor: Actor, filter: Listing & { client: number }, limit: number) => {
    const [{ apps, users, next_cursor }, groups] = await Promise.all([
      createAccessMatrix({ em, ...unit }).read(actor, filter, limit),
      groupsIn(filter.client).execute(kysely(em)),
    ]);
    const emails = users.map(({ email }) => email);
    const [members, ends] = await Promise.all([
      groupsByPerson(filter.client, emails).execute(kysely(em)),
      endsByPerson(filter.client, emails).execute(kysely(em)),
    ]);
    const groupsOf = new Map(members.rows.map((row) => [row.email, row.groups]));
    const endsOf = Map.groupBy(ends.rows, ({ email }) => email);
    const withGroups = users.map((user) => ({
      ...user,
      groups: groupsOf.get(user.email) ?? [],
      ends: endsOf.get(user.email) ?? [],
    }));
    return { apps, groups: groups.rows, users: withGroups, next_cursor };
  },
});

const appsOf = (actor: Actor, id: number) => sql<AppRow>`
  select a.id, a.label, a.client_id as client,
    ${strongestRole('u', 'm')} as role,
    array(select g.group_id from ${GROUP_ACCESS} g where g.user_id = u.id and g.app_id = a.id order by g.name) as groups
  from users u cross join apps a left join memberships m on m.user_id = u.id and m.client_id = a.client_id
  where u.id = ${id} and (m.user_id is not null or exists (
      select from ${LIVE_GRANTS} g where g.user_id = u.id and g.app_id = a.id))
    and ${userClientVisibleTo(actor, sql`u.id`, sql`a.client_id`)}
  order by a.created_at, a.id`;

/** The groups of a person. Viewers of a client also get those of its groups that the person is not in. */
const groupsOf = (actor: Actor, id: number) => sql<PersonGroup>`
  select gr.id, gr.client_id as client, gr.name, gm.user_id is not null as is_member, gm.added_at,
    ${addressOf(actor, sql`gm.added_by`, sql`gm.added_at`)} as added_by,
    array(select ga.app_id from group_apps ga join apps a on a.id = ga.app_id where ga.group_id = gr.id
      order by a.created_at, a.id) as apps
  from memberships m join groups gr on gr.client_id = m.client_id
    left join group_members gm on gm.group_id = gr.id and gm.user_id = m.user_id
  where m.user_id = ${id} and (${clientVisibleTo(actor, sql`m.client_id`)}
    or (m.user_id = ${actor.id} and gm.user_id is not null))
  order by lower(gr.name), gr.id`;

type MemberRow = { email: string; first_name: string; last_name: string; is_active: boolean };

/** `is_active`: whether they may open apps of the client. */
const membersOf = (groupId: number) => sql<MemberRow>`
  select u.email, u.first_name, u.last_name, u.is_active and m.is_active_member as is_active
  from group_members gm join groups gr on gr.id = gm.group_id join users u on u.id = gm.user_id
    join memberships m on m.client_id = gr.client_id and m.user_id = u.id
  where gm.group_id = ${groupId}
  order by lower(u.first_name || ' ' || u.last_name), u.email`;

/** Those who have the app by this group only. */
const lossesOf = (groupId: number) => sql<{ app: string; people: number }>`
  select g.app_id as app, count(*)::int as people
  from ${GROUP_ACCESS} g join apps a on a.id = g.app_id join users u on u.id = g.user_id
    join memberships m on m.user_id = u.id and m.client_id = a.client_id
  where g.group_id = ${groupId} and u.is_active and not ${opensByRole('u', 'm')}
    and not exists (select from ${LIVE_GRANTS} d where d.user_id = u.id and d.app_id = a.id)
    and not exists (select from ${GROUP_ACCESS} o
      where o.user_id = u.id and o.app_id = a.id and o.group_id <> g.group_id)
  group by g.app_id, a.created_at order by a.created_at, g.app_id`;

const groupsIn = (client: number) => sql<{ id: number; name: string }>`
  select id, name from groups where client_id = ${client} order by lower(name), id`;

const groupsByPerson = (client: number, emails: string[]) => sql<{ email: string; groups: number[] }>`
  select u.email, array_agg(gr.id order by gr.id) as groups
  from users u join group_members gm on gm.user_id = u.id join groups gr on gr.id = gm.group_id
  where gr.client_id = ${client} and u.email = any(${emails}::varchar[])
  group by u.email`;

const endsByPerson = (client: number, emails: string[]) => sql<{
  email: string;
  app: string;
  expires_at: Date;
}>`
  select u.email, a.id as app, g.expires_at
  from users u join ${LIVE_GRANTS} g on g.user_id = u.id join apps a on a.id = g.app_id
  where a.client_id = ${client} and u.email = any(${emails}::varchar[]) and g.expires_at is not null`;
