import { type NotNull, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, canViewAll, requireAccessAdmin } from '../access/actor.ts';
import { can, rolesThatMay } from '../access/permissions.ts';
import { EVERYWHERE, isWithin } from '../access/scope.ts';
import {
  appAccess,
  clientVisibleTo,
  groupsGiving,
  isPerson,
  liveGrants,
  strongestRole,
  userVisibleTo,
} from '../access/visibility.ts';
import { addressOf } from '../accounts/addresses.ts';
import { actingUsers, readTarget } from '../accounts/user-locks.ts';
import { appRows, requireViewableApp } from '../apps/app-rows.ts';
import { describeFaults, fixOf, type Outcome } from '../attributes/effective-values.ts';
import { appRoles, dataPermissionsOf, masked } from '../attributes/given-values.ts';
import { ofUser } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  accessEndsAt,
  decideAccess,
  hasAccessToOne,
  type Opening,
  openingsByUser,
  openingWithin,
  rolesOf,
} from './app-access.ts';

/** A way in which a person has an app. Times and people are null if they were not recorded, and for roles. */
type AccessPath = {
  kind: 'grant' | 'group' | 'role';
  /** For a role: `superuser`, `staff` or `client-admin`; otherwise null. */
  role: string | null;
  group: { id: number; name: string } | null;
  since: Date | null;
  granted_by: string | null;
  expires_at: Date | null;
  reason: string;
};

/** What keeps a person from opening an app, which change fixes it, and who may make the change. */
const BLOCKERS = {
  'user-inactive': {
    detail: 'The account is suspended.',
    fix: 'Reactivate the account.',
    fixed_by: `${rolesThatMay('manage-people')}; superuser if the person ever belonged to another client`,
  },
  'member-suspended': {
    detail: 'The person is suspended in the client of the app.',
    fix: 'Reactivate the person in the client.',
    fixed_by: rolesThatMay('manage-people'),
  },
  'not-granted': {
    detail: 'No grant, group or role gives the app.',
    fix: 'Grant the app, or add the person to a group that has it.',
    fixed_by: rolesThatMay('manage-grants'),
  },
  'grant-expired': {
    detail: 'The grant has ended.',
    fix: 'Grant the app again.',
    fixed_by: rolesThatMay('manage-grants'),
  },
  'attributes-invalid': {
    detail: 'Data permissions are invalid',
    fix: '',
    fixed_by: rolesThatMay('manage-people', 'manage-grants'),
  },
  'client-closed': {
    detail: 'The client is closed.',
    fix: 'Reopen the client.',
    fixed_by: rolesThatMay('administer'),
  },
  'in-maintenance': {
    detail: 'The app is in maintenance.',
    fix: 'End the maintenance.',
    fixed_by: rolesThatMay('manage-apps'),
  },
};

type BlockerCode = keyof typeof BLOCKERS;
export const BLOCKER_CODES = Object.keys(BLOCKERS) as BlockerCode[]; // its keys are literals

/** Explains why a person may or may not open an app, with the condition that launches, tickets and the gate use. */
export const createAccessExplanation = ({ em, clock, audit }: UnitOfWork) => ({
  explain: async (actor: Actor, email: string, appId: string) =>
    (await explain(em, actor, { email, appId, now: clock.now() })).explanation,

  /**
   * What two people have in the client of an app, and whether and why they may open it, side by side.
   * @throws Problem `not-found`, `forbidden` if the actor may only open the app
   */
  compare: async (actor: Actor, appId: string, emails: readonly string[]) => {
    const now = clock.now();
    const { id, client_id: client, slug, label } = await requireViewableApp(em, actor, now, appId);
    const people = [];
    for (const email of emails) {
      const { opening, explanation } = await explain(em, actor, { email, appId, now });
      const { user_id: userId, is_member_active: isMember } = opening;
      const person = await kysely(em)
        .selectFrom('users')
        .select(['email', 'first_name', 'last_name', 'is_active', groupsIn(client).as('groups')])
        .where('id', '=', userId)
        .executeTakeFirstOrThrow();
      people.push({
        ...person,
        roles: isMember === null ? opening.roles : rolesOf(opening),
        ...explanation,
      });
    }
    return { app: { id, client, slug, label }, people };
  },

  /**
   * The active people who have an app, by email address, and the grants, groups and roles that give it to them. Ignores a closed client and
   * maintenance, which keep everyone out.
   * @throws Problem `not-found`, `forbidden` if the actor may only open the app, `invalid-input` on `cursor`
   */
  list: async (actor: Actor, appId: string, page: PageRequest & { cursor?: string | undefined }) => {
    const { client_id } = await requireViewableApp(em, actor, clock.now(), appId);
    const people = peopleOf(em, actor, { appId, clientId: client_id, now: clock.now() })
      .where(userVisibleTo(actor))
      .where(isPerson);
    if (page.cursor === undefined) return readPage(people, 'users.email', page);
    const { email } = await cursorRow(people.where('users.email', '=', page.cursor));
    return readPage(people.where('users.email', '>', email), 'users.email', page);
  },

  /**
   * The apps on a person's home page, limited to clients that the actor may see. Records this in the audit trail.
   * @throws Problem `not-found`, `forbidden`
   */
  preview: async (actor: Actor, email: string) => {
    const now = clock.now();
    const person = await readTarget(em, actor, email);
    requireAccessAdmin(actor, person);
    const user = actingUsers(em).select('users.is_active').where('users.id', '=', person.id);
    const { is_active, ...viewer } = await user.executeTakeFirstOrThrow();
    const clients = person.clientIds.filter((id) => can(actor, 'manage-people', id));
    await audit.record(em, [{ action: 'user.preview', actor, target: ofUser(person), clients }]);
    // For people who see all apps of all clients, the home page shows only the granted ones.
    const isOwn = canViewAll(viewer)
      ? condition`exists (select from ${appAccess(now)} g where g.user_id = ${person.id} and g.app_id = apps.id)`
      : condition`true`;
    const apps = appRows(em, { ...viewer, scope: EVERYWHERE }, now)
      .where(clientVisibleTo(actor, sql`apps.client_id`))
      .where(isOwn);
    return { is_active, apps: is_active ? await apps.execute() : [] };
  },
});

/** Users who have the app: by a grant, a group or a role. */
const peopleOf = (
  em: Em,
  actor: Actor,
  { appId, clientId, now }: { appId: string; clientId: number; now: Date },
) =>
  openingsByUser(em, now)
    .clearSelect()
    .leftJoin(liveGrants(now).as('g'), (join) =>
      join.onRef('g.user_id', '=', 'users.id').onRef('g.app_id', '=', 'apps.id'),
    )
    .select(['users.email', 'users.first_name', 'users.last_name'])
    .$narrowType<{ email: NotNull; first_name: NotNull; last_name: NotNull }>()
    .select([
      strongestRole('users', 'memberships').as('role'),
      groupsGiving(sql`users.id`).as('groups'),
      condition`g.app_id is not null`.as('is_granted'),
      accessEndsAt(now).as('ends_at'),
    ])
    .select(addressOf(actor, sql`g.granted_by`, sql`g.granted_at`).as('granted_by'))
    .select(['g.granted_at', 'g.expires_at as grant_expires_at', 'g.reason', appRoles(now).as('app_roles')])
    .where('apps.id', '=', appId)
    .where('users.is_active', '=', true)
    .where(hasAccessToOne(now, { appId, clientId }))
    .orderBy('users.email');

/** SQL: the names of the groups of a client that a row of `users` belongs to. */
const groupsIn = (clientId: number) => sql<string[]>`array(
  select gr.name from group_members gm join groups gr on gr.id = gm.group_id
  where gm.user_id = users.id and gr.client_id = ${clientId} order by gr.name)`;

type Question = { email: string; appId: string; now: Date };

/**
 * For viewers who see the person and the client of the app, and for people themselves in their clients.
 * @throws Problem `not-found`
 */
const explain = async (em: Em, actor: Actor, { email, appId, now }: Question) => {
  const found = await openingsByUser(em, now)
    .select('memberships.is_active_member as is_member_active')
    .where('users.email', '=', email)
    .where('apps.id', '=', appId)
    .where(userVisibleTo(actor))
    .executeTakeFirst();
  if (!found || !isVisible(actor, found)) throw notFound('app or user');
  const scope = found.user_id === actor.id ? actor.scope : EVERYWHERE;
  const opening = { ...openingWithin(found, scope), is_member_active: found.is_member_active };
  const given = await readGrantAndGroups(em, actor, opening, now);
  const paths = [...rolePaths(opening), ...given.filter(({ is_expired }) => !is_expired)];
  const hasExpired = given.some(({ is_expired }) => is_expired);
  const data = dataPermissionsOf(opening);
  const faulty = data.outcome && data.outcome.faults.length > 0 ? [faultBlocker(data.outcome)] : [];
  const explanation = {
    allowed: decideAccess(opening, now) === 'allowed',
    paths,
    blockers: [
      ...blockersOf(opening, { hasPath: paths.length > 0, hasExpired }),
      ...(data.isRefused ? faulty : []),
    ],
    /** What would keep the app closed if the client enforced data permissions. */
    warnings: data.isRefused ? [] : faulty,
    app_roles: opening.app_roles,
    data_permissions: shownValues(actor, opening, data.values),
  };
  return { opening, explanation };
};

const faultBlocker = (outcome: Outcome) => {
  const { detail, fixed_by } = BLOCKERS['attributes-invalid'];
  const code = 'attributes-invalid' as const;
  return { code, detail: `${detail}: ${describeFaults(outcome.faults)}.`, fix: fixOf(outcome), fixed_by };
};

/** Of people who do not belong to the client, these are values of the account, which not everyone who sees the client may know. */
const shownValues = (actor: Actor, opening: Explained, values: Record<string, unknown> | null) => {
  const isOwn = opening.user_id === actor.id;
  if (opening.is_member_active === null && !canViewAll(actor) && !isOwn) return null;
  return isOwn || can(actor, 'manage-people', opening.client_id) ? values : masked(opening, values);
};

type Explained = Opening & { is_member_active: boolean | null };

const isVisible = (actor: Actor, { user_id, client_id, is_member_active }: Explained): boolean =>
  canViewAll(actor) ||
  can(actor, 'view', client_id) ||
  (user_id === actor.id && is_member_active !== null && isWithin(actor.scope, client_id));

const rolePaths = ({ roles }: Opening): AccessPath[] =>
  roles.map((role) => ({
    kind: 'role',
    role,
    group: null,
    since: null,
    granted_by: null,
    expires_at: null,
    reason: '',
  }));

/** The grant of the app, even an expired one, and the groups that give it. */
const readGrantAndGroups = async (em: Em, actor: Actor, { user_id, app_id }: Opening, now: Date) => {
  const adderId = sql`case when gm.added_at >= ga.added_at then gm.added_by else ga.added_by end`;
  const adder = addressOf(actor, adderId, sql`greatest(gm.added_at, ga.added_at)`);
  const { rows } = await sql<AccessPath & { is_expired: boolean }>`
    select 'grant' as kind, null as role, null::json as group, null as group_name, g.granted_at as since,
      ${addressOf(actor, sql`g.granted_by`, sql`g.granted_at`)} as granted_by,
      g.expires_at, g.reason, coalesce(g.expires_at <= ${now}::timestamptz, false) as is_expired
    from app_grants g
    where g.user_id = ${user_id} and g.app_id = ${app_id}
    union all
    select 'group', null, json_build_object('id', gr.id, 'name', gr.name), gr.name, greatest(gm.added_at, ga.added_at),
      ${adder}, null, '', false
    from group_members gm join group_apps ga on ga.group_id = gm.group_id join groups gr on gr.id = gm.group_id
    where gm.user_id = ${user_id} and ga.app_id = ${app_id}
    order by group_name nulls first`.execute(kysely(em));
  return rows;
};

const blockersOf = (
  { is_active, is_member_active, roles, ...opening }: Explained,
  { hasPath, hasExpired }: { hasPath: boolean; hasExpired: boolean },
) => {
  const found: Record<Exclude<BlockerCode, 'attributes-invalid'>, boolean> = {
    'user-inactive': !is_active,
    'member-suspended': is_member_active === false && roles.length === 0,
    'not-granted': !hasPath && !hasExpired,
    'grant-expired': !hasPath && hasExpired,
    'client-closed': !opening.client_is_open,
    'in-maintenance': opening.in_maintenance,
  };
  return BLOCKER_CODES.filter((code) => code !== 'attributes-invalid')
    .filter((code) => found[code])
    .map((code) => ({ code, ...BLOCKERS[code] }));
};
