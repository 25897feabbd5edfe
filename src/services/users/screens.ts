import { sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { type Actor, userAdminRefusal } from '../access/actor.ts';
import { globalRolesOf } from '../access/permissions.ts';
import {
  clientVisibleTo,
  GROUP_ACCESS,
  liveGrants,
  opensByRole,
  strongestRole,
  userClientVisibleTo,
} from '../access/visibility.ts';
import { addressOf, readUserId } from '../accounts/addresses.ts';
import { readTarget } from '../accounts/user-locks.ts';
import { usageVisibleTo } from '../apps/app-rows.ts';
import { readFactors } from '../auth/factor-management.ts';
import { readClient } from '../clients/clients.ts';
import { lackOf, readFactorState } from '../policies/factor-policy.ts';
import { passwordExpiresAt } from '../policies/password-expiry.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { createAccessMatrix } from './access-matrix.ts';
import { readPendingChange } from './email-changes.ts';
import { grantsOfUser } from './grants.ts';
import { APPS_OF_GROUP, readGroup } from './groups.ts';
import type { Listing } from './users.ts';

type ActiveDay = { day: string; apps: { id: string; label: string; actions: number }[] };

/** An app of a client of the person, and how the person has it, apart from grants. */
type AppRow = {
  id: string;
  label: string;
  client: number;
  /** The strongest role that gives the app: `superuser`, `staff` or `client-admin`. */
  role: string | null;
  /** Ids of the groups that give it. */
  groups: number[];
};

/** Data about people and their access for screens of the console only. */
export const createScreens = (unit: UnitOfWork) => {
  const { em, clock, staffSecondFactor } = unit;

  /** The last day on which the person used an app, and the app used most on that day, if the actor may see it. */
  const readLastUse = async (actor: Actor, userId: number) => {
    const days = kysely(em)
      .selectFrom('usage_days as d')
      .innerJoin('apps as a', 'a.id', 'd.app_id')
      .select(['d.day', 'a.label as app'])
      .where('d.user_id', '=', userId)
      .where(usageVisibleTo(actor))
      .orderBy('d.day', 'desc')
      .orderBy('d.actions', 'desc')
      .orderBy('a.id');
    return (await days.limit(1).executeTakeFirst()) ?? null;
  };

  const readAccount = async (userId: number) => {
    const account = await kysely(em)
      .selectFrom('users')
      .select(condition`password_hash is not null`.as('has_password'))
      .select(['last_password_set', passwordExpiresAt('users').as('password_expires_at')])
      .where('id', '=', userId)
      .executeTakeFirstOrThrow();
    const pending_email = await readPendingChange(em, userId, clock.now());
    const { factors: second_factors, recovery_codes } = await readFactors(em, userId);
    const state = await readFactorState(em, userId, staffSecondFactor);
    // Viewers who see the account administer all clients of the person.
    const { required_from: factor_required_from, needs_passkey } = lackOf(state);
    return { ...account, pending_email, second_factors, factor_required_from, needs_passkey, recovery_codes };
  };

  return {
    /**
     * `account` is null for viewers who may not change the account.
     * @throws Problem `not-found`
     */
    person: async (actor: Actor, email: string) => {
      const target = await readTarget(em, actor, email);
      const mayChange = userAdminRefusal(actor, target) === null;
      const [last_use, account] = await Promise.all([
        readLastUse(actor, target.id),
        mayChange ? readAccount(target.id) : null,
      ]);
      return { role: globalRolesOf(target)[0]?.name ?? null, last_use, account };
    },

    /**
     * The days on which the person used apps that the actor may see, newest first.
     * @param before the last day of the previous page
     * @throws Problem `not-found`
     */
    activity: async (actor: Actor, email: string, before: string | undefined, limit: number) => {
      const { id } = await readTarget(em, actor, email);
      const { rows } = await sql<ActiveDay>`
        select d.day::text, json_agg(json_build_object('id', a.id, 'label', a.label, 'actions', d.actions)
          order by d.actions desc, a.id) as apps
        from usage_days d join apps a on a.id = d.app_id
        where d.user_id = ${id} and ${usageVisibleTo(actor)}
          and (${before ?? null}::date is null or d.day < ${before ?? null}::date)
        group by d.day order by d.day desc limit ${limit}`.execute(kysely(em));
      return rows;
    },

    /**
     * All apps of the clients of a person, including apps that they cannot open, and all groups. Includes what suspended members keep.
     * @throws Problem `not-found`
     */
    accessOfPerson: async (actor: Actor, email: string) => {
      const id = await readUserId(em, actor, email);
      const now = clock.now();
      const [apps, grants, groups] = await Promise.all([
        appsOf(actor, id, now).execute(kysely(em)),
        grantsOfUser(actor, id, now).execute(kysely(em)),
        groupsOf(em, actor, id).execute(),
      ]);
      const grantOf = new Map(grants.rows.map((grant) => [grant.app, grant]));
      return {
        apps: apps.rows.map((app) => ({ ...app, grant: grantOf.get(app.id) ?? null })),
        groups,
      };
    },

    /**
     * A group with its members by name. `losses`: how many people would lose each of its apps with the group.
     * @throws Problem `not-found`
     */
    group: async (actor: Actor, clientId: number, id: number) => {
      await readClient(em, actor, clientId);
      const group = await readGroup(em, clientId, id);
      const [members, losses] = await Promise.all([
        membersOf(em, id).execute(),
        lossesOf(id, clock.now()).execute(kysely(em)),
      ]);
      return { ...group, members, losses: losses.rows };
    },

    /**
     * A page of the access matrix, with the groups of the client.
     * @throws the problems of `read` of the matrix
     */
    grid: async (actor: Actor, filter: Listing & { client: number }, limit: number) => {
      const [matrix, groups] = await Promise.all([
        createAccessMatrix(unit).read(actor, filter, limit),
        groupsIn(em, filter.client).execute(),
      ]);
      return { ...matrix, groups };
    },
  };
};

const appsOf = (actor: Actor, id: number, now: Date) => sql<AppRow>`
  select a.id, a.label, a.client_id as client,
    ${strongestRole('u', 'm')} as role,
    array(select gr.id from group_members gm join group_apps ga on ga.group_id = gm.group_id join groups gr on gr.id = gm.group_id
      where gm.user_id = u.id and ga.app_id = a.id order by gr.name) as groups
  from users u cross join apps a left join memberships m on m.user_id = u.id and m.client_id = a.client_id
  where u.id = ${id} and (m.user_id is not null or exists (
      select from ${liveGrants(now)} g where g.user_id = u.id and g.app_id = a.id))
    and ${userClientVisibleTo(actor, sql`u.id`, sql`a.client_id`)}
  order by a.created_at, a.id`;

/** The groups of a person. Viewers of a client also get its other groups. */
const groupsOf = (em: Em, actor: Actor, id: number) =>
  kysely(em)
    .selectFrom('memberships as m')
    .innerJoin('groups', 'groups.client_id', 'm.client_id')
    .leftJoin('group_members as gm', (join) =>
      join.onRef('gm.group_id', '=', 'groups.id').onRef('gm.user_id', '=', 'm.user_id'),
    )
    .select(['groups.id', 'groups.client_id as client', 'groups.name', 'gm.added_at'])
    .select(condition`gm.user_id is not null`.as('is_member'))
    .select(addressOf(actor, sql`gm.added_by`, sql`gm.added_at`).as('added_by'))
    .select(APPS_OF_GROUP.as('apps'))
    .where('m.user_id', '=', id)
    .where(
      condition`(${clientVisibleTo(actor, sql`m.client_id`)}
        or (m.user_id = ${actor.id} and gm.user_id is not null))`,
    )
    .orderBy(sql`lower(groups.name)`)
    .orderBy('groups.id');

/** `is_active`: whether the member may open apps of the client. */
const membersOf = (em: Em, groupId: number) =>
  kysely(em)
    .selectFrom('group_members as gm')
    .innerJoin('groups as gr', 'gr.id', 'gm.group_id')
    .innerJoin('users as u', 'u.id', 'gm.user_id')
    .innerJoin('memberships as m', (join) =>
      join.onRef('m.client_id', '=', 'gr.client_id').onRef('m.user_id', '=', 'u.id'),
    )
    .select(['u.email', 'u.first_name', 'u.last_name'])
    .select(condition`(u.is_active and m.is_active_member)`.as('is_active'))
    .where('gm.group_id', '=', groupId)
    .orderBy(sql`lower(u.first_name || ' ' || u.last_name)`)
    .orderBy('u.email');

/** People who have the app by this group only. */
const lossesOf = (groupId: number, now: Date) => sql<{ app: string; people: number }>`
  select g.app_id as app, count(*)::int as people
  from ${GROUP_ACCESS} g join apps a on a.id = g.app_id join users u on u.id = g.user_id
    join memberships m on m.user_id = u.id and m.client_id = a.client_id
  where g.group_id = ${groupId} and u.is_active and not ${opensByRole('u', 'm')}
    and not exists (select from ${liveGrants(now)} d where d.user_id = u.id and d.app_id = a.id)
    and not exists (select from ${GROUP_ACCESS} o
      where o.user_id = u.id and o.app_id = a.id and o.group_id <> g.group_id)
  group by g.app_id, a.created_at order by a.created_at, g.app_id`;

const groupsIn = (em: Em, client: number) =>
  kysely(em)
    .selectFrom('groups')
    .select(['id', 'name'])
    .where('client_id', '=', client)
    .orderBy(sql`lower(name)`)
    .orderBy('id');
