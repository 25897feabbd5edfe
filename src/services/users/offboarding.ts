import { sql } from 'kysely';
import { Membership } from '../../../entities/client.ts';
import type { EndedPart } from '../../../entities/operation.ts';
import type { User } from '../../../entities/user.ts';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { type Actor, requireAccessAdmin } from '../access/actor.ts';
import {
  adminOf,
  CLIENT_ROLES,
  can,
  canAllOf,
  GLOBAL_ROLES,
  namedRoles,
  rolesIn,
} from '../access/permissions.ts';
import { isAllowedIn, isListedView } from '../access/visibility.ts';
import { endUndo } from '../accounts/access-ends.ts';
import { type LockedUser, lockUser, requireAnotherSuperuser } from '../accounts/user-locks.ts';
import {
  type AuditEvent,
  type Changes,
  diffColumns,
  isEmpty,
  ofApp,
  ofUser,
  type Transaction,
} from '../audit/audit.ts';
import { clientRoleKey } from '../audit/operation-log.ts';
import { endWeakerLogins } from '../auth/credentials.ts';
import type { StaffPolicy } from '../policies/factor-policy.ts';
import { readGrantedApps } from './app-grants.ts';
import { groupEvents } from './group-joining.ts';
import { endMemberAccess, heldRoles, type RolesChange, rolesEvent, setHeldRoles } from './member-access.ts';
import { returnAttributes } from './member-attributes.ts';
import { updateUser } from './user-update.ts';

/** The ended parts, and their entries for the audit trail. */
type Ending = { parts: EndedPart[]; events: AuditEvent[] };

/**
 * Ends everything that a person has in the actor's clients: grants, groups, roles, access views and invitations, then the account, or, if
 * the person also belongs to other clients, the memberships. Sessions, tokens, launches and requests end with these.
 * @param client ends only what the person has in this client, where the person is suspended
 * @throws Problem `not-found`, `forbidden`, `self-modification`, `last-superuser`
 */
export const offboardUser = async (
  deps: Transaction,
  offboarder: Actor,
  email: string,
  client: number | undefined,
) => {
  const { tx, now, audit } = deps;
  const target = await lockUser(tx, offboarder, email, requireAccessAdmin);
  const { user } = target;
  if (user.id === offboarder.id) throw new Problem('self-modification');
  const isAccount = client === undefined;
  const actor = isAccount ? offboarder : asAdminOf(client, offboarder);
  if (isAccount && user.isSuperuser && user.isActive) await requireAnotherSuperuser(tx, user);
  const endings = [
    await endGroups(tx, actor, user),
    await endViews(deps, actor, user),
    await endRoles(deps, actor, target),
  ];
  await endMemberAccess(tx, user, await concernedClients(tx, actor, user), now);
  const apps = await readGrantedApps(tx, user.id, now, (clientId) =>
    isAllowedIn(clientId, actor, 'manage-people'),
  );
  const members_of = isAccount ? undefined : [client];
  const changes = { is_active: false, revoke: apps.map(({ id }) => id), onlyGrants: true, members_of };
  // Last, because it waits for transactions that rely on the access of the person.
  const requireMay = () => requireAccessAdmin(offboarder, target);
  const { isChanged, undoable } = await updateUser(deps, actor, email, changes, requireMay);
  const events = endings.flatMap((ending) => ending.events);
  await audit.record(tx, events);
  const ended = endings.flatMap(({ parts }) => parts);
  return { isChanged: isChanged || events.length > 0, undoable: { ...undoable, ended } };
};

/** The actor with rights in one client alone, of the actors who manage its people. */
const asAdminOf = (client: number, actor: Actor): Actor => ({
  ...actor,
  ...(can(actor, 'administer') ? adminOf(client) : rolesIn(actor, (id) => id === client)),
});

/** The actor's clients to which the person belongs or is invited. */
const concernedClients = async (em: Em, actor: Actor, { id, email }: Pick<User, 'id' | 'email'>) => {
  const isManaged = isAllowedIn(sql`client_id`, actor, 'manage-people');
  const [memberships, invitations] = [
    kysely(em).selectFrom('memberships'),
    kysely(em).selectFrom('invitations'),
  ];
  const joined = memberships.select('client_id').where('user_id', '=', id).where(isManaged);
  const invited = invitations.select('client_id').where('email', '=', email).where('status', '=', 'pending');
  const rows = await joined.union(invited.where(isManaged)).execute();
  return rows.map((row) => row.client_id);
};

type LeftGroup = { id: number; name: string; client: number; added_by: number | null; added_at: string };

const endGroups = async (tx: Em, actor: Actor, { id }: User): Promise<Ending> => {
  const { rows } = await sql<LeftGroup>`
    delete from group_members gm using groups gr
    where gr.id = gm.group_id and gm.user_id = ${id} and ${isAllowedIn(sql`gr.client_id`, actor, 'manage-people')}
    returning gr.id, gr.name, gr.client_id as client, gm.added_by,
      to_json(gm.added_at)#>>'{}' as added_at`.execute(kysely(tx));
  return {
    parts: rows.map((group) => ({
      kind: 'group',
      key: String(group.id),
      added_by: group.added_by,
      added_at: group.added_at,
    })),
    events: groupEvents(actor, rows, { added: [], removed: [id] }),
  };
};

const endViews = async ({ tx, now }: Transaction, actor: Actor, { id }: User): Promise<Ending> => {
  const rows = await kysely(tx)
    .updateTable('access_views')
    .from('apps as a')
    .set({ is_active: false, modified_at: now })
    .whereRef('a.id', '=', 'access_views.app_id')
    .where('access_views.user_id', '=', id)
    .where('access_views.is_active', '=', true)
    .where(isAllowedIn(sql`a.client_id`, actor, 'manage-people'))
    .returning([
      'access_views.id',
      'a.id as app_id',
      'a.slug as app',
      'a.client_id as client',
      isListedView(now).as('is_listed'),
    ])
    .execute();
  const listed = rows.filter((view) => view.is_listed);
  return {
    parts: listed.map((view) => ({ kind: 'access-view', key: String(view.id) })),
    events: viewEvents('access-view.deactivate', actor, listed, id),
  };
};

const viewEvents = (
  action: 'access-view.deactivate' | 'access-view.update',
  actor: Actor,
  views: readonly { id: number; app_id: string; app: string; client: number }[],
  user: number,
): AuditEvent[] =>
  views.map(({ id, app_id, app, client }) => ({
    action,
    actor,
    target: ofApp({ id: app_id, slug: app }),
    clients: [client],
    details: {
      access_view: id,
      user,
      ...(action === 'access-view.update' && { is_active: { from: false, to: true } }),
    },
  }));

/** Ends the roles in the actor's clients, and, if the actor is a superuser, also the roles in all clients. */
const endRoles = async (
  { tx }: Transaction,
  actor: Actor,
  { user, clientIds }: LockedUser,
): Promise<Ending> => {
  const memberships = await managedMemberships(tx, actor, user);
  const inClients = changeRoles(memberships, () => []);
  const before = { isStaff: user.isStaff, isSuperuser: user.isSuperuser };
  if (can(actor, 'administer')) user.setRoles({ isStaff: false, isSuperuser: false });
  await tx.flush();
  const details = diffColumns(before, user, ROLES);
  const about = { actor, target: ofUser(user) };
  return {
    parts: [
      ...keysOf(inClients).map((key) => ({ kind: 'client-role' as const, key })),
      ...Object.keys(details).map((key) => ({ kind: 'role' as const, key })),
    ],
    events: [
      ...inClients.map((change) => rolesEvent(about, change)),
      ...roleEvents({ ...about, clients: clientIds }, details),
    ],
  };
};

/** The memberships of a locked user in the actor's clients. */
const managedMemberships = async (tx: Em, actor: Actor, user: User): Promise<Membership[]> => {
  const found = await tx.find(Membership, { user: user.id }, { orderBy: { client: 'asc' } });
  return found.filter(({ client }) => can(actor, 'manage-people', client.id));
};

/** Changes roles in clients. Returns what was changed. */
const changeRoles = (
  memberships: readonly Membership[],
  newRoles: (held: readonly string[], client: number) => string[],
): RolesChange[] =>
  memberships.flatMap((membership) => {
    const from = heldRoles(membership);
    const to = newRoles(from, membership.client.id);
    if (to.length === from.length) return [];
    setHeldRoles(membership, to);
    return { client: membership.client.id, from, to };
  });

/** The keys of roles that were given or ended, among the ended parts. */
const keysOf = (changes: readonly RolesChange[]): string[] =>
  changes.flatMap(({ client, from, to }) =>
    from
      .filter((name) => !to.includes(name))
      .concat(to.filter((name) => !from.includes(name)))
      .map((name) => clientRoleKey(name, client)),
  );

const ROLES = GLOBAL_ROLES.map(({ flag }) => flag);

/** Audit events of changed roles in all clients. */
const roleEvents = (
  about: Pick<AuditEvent, 'actor' | 'target' | 'clients'>,
  details: Changes,
): AuditEvent[] => (isEmpty(details) ? [] : [{ action: 'user.update-roles', ...about, details }]);

/** The ids of the groups among the parts; lock them before their members. */
export const groupsAmong = (parts: readonly EndedPart[]): number[] =>
  parts.flatMap(({ kind, key }) => (kind === 'group' ? Number(key) : []));

type Undo = Transaction & { parts: readonly EndedPart[]; endedAt: Date; staffSecondFactor: StaffPolicy };

/**
 * Gives back to a locked user what an operation has ended or replaced. Returns the parts that were given back. Their groups must be locked before the
 * user.
 */
export const giveBack = async (deps: Undo, actor: Actor, user: User): Promise<EndedPart[]> => {
  const { parts } = deps;
  const endings = [
    await rejoinGroups(deps, actor, user, parts),
    await reopenViews(deps, actor, user, parts),
    await returnRoles(deps, actor, user, parts),
    await returnAttributes(deps, actor, user, parts),
  ];
  const events = endings.flatMap((ending) => ending.events);
  await deps.audit.record(deps.tx, events);
  return endings.flatMap((ending) => ending.parts);
};

type Parts = readonly EndedPart[];
const ofKind = (parts: Parts, kind: EndedPart['kind']): Parts => parts.filter((part) => part.kind === kind);
const withKeys = (parts: Parts, keys: readonly (string | number)[]): EndedPart[] =>
  parts.filter(({ key }) => keys.some((one) => String(one) === key));
const idsOf = (rows: readonly { id: number }[]): number[] => rows.map(({ id }) => id);

/** Only groups of clients to which the person still belongs. */
const rejoinGroups = async ({ tx }: Undo, actor: Actor, user: User, parts: Parts): Promise<Ending> => {
  const groups = ofKind(parts, 'group');
  const { rows } = await sql<{ id: number; name: string; client: number }>`
    with joined as (
      insert into group_members (group_id, user_id, added_by, added_at)
      select gr.id, m.user_id, part.added_by, part.added_at
      from json_to_recordset(${JSON.stringify(groups)}::json) as part (key int, added_by int, added_at timestamptz)
        join groups gr on gr.id = part.key
        join memberships m on m.client_id = gr.client_id and m.user_id = ${user.id}::int
      where ${isAllowedIn(sql`gr.client_id`, actor, 'manage-people')}
      on conflict do nothing returning group_id
    )
    select id, name, client_id as client
    from groups join joined on joined.group_id = groups.id`.execute(kysely(tx));
  return {
    parts: withKeys(groups, idsOf(rows)),
    events: groupEvents(actor, rows, { added: [user.id], removed: [] }),
  };
};

/** Only views that are still as the offboarding left them. */
const reopenViews = async (
  { tx, now, endedAt }: Undo,
  actor: Actor,
  user: User,
  parts: Parts,
): Promise<Ending> => {
  const views = ofKind(parts, 'access-view');
  const ids = views.map(({ key }) => Number(key));
  const rows = await kysely(tx)
    .updateTable('access_views as v')
    .from('apps as a')
    .set({ is_active: true, modified_at: now })
    .whereRef('a.id', '=', 'v.app_id')
    .where(isAnyOf('v.id', ids, 'bigint'))
    .where('v.user_id', '=', user.id)
    .where('v.is_active', '=', false)
    .where('v.modified_at', '=', endedAt)
    .where(isAllowedIn(sql`a.client_id`, actor, 'manage-people'))
    .returning(['v.id', 'a.id as app_id', 'a.slug as app', 'a.client_id as client'])
    .execute();
  return {
    parts: withKeys(views, idsOf(rows)),
    events: viewEvents('access-view.update', actor, rows, user.id),
  };
};

const returnRoles = async (
  { tx, staffSecondFactor }: Undo,
  actor: Actor,
  user: User,
  parts: Parts,
): Promise<Ending> => {
  const ended = ofKind(parts, 'client-role');
  const memberships = await managedMemberships(tx, actor, user);
  const inClients = changeRoles(memberships, (held, client) =>
    CLIENT_ROLES.map(({ name }) => name).filter(
      (name) =>
        held.includes(name) ||
        (withKeys(ended, [clientRoleKey(name, client)]).length > 0 &&
          canAllOf(actor, namedRoles([name], client))),
    ),
  );
  const before = { isStaff: user.isStaff, isSuperuser: user.isSuperuser };
  const roles = can(actor, 'administer') ? ofKind(parts, 'role') : [];
  const isGiven = (role: string) => roles.some(({ key }) => key === role);
  user.setRoles({
    isStaff: before.isStaff || isGiven('isStaff'),
    isSuperuser: before.isSuperuser || isGiven('isSuperuser'),
  });
  await tx.flush();
  const details = diffColumns(before, user, ROLES);
  const changed = Object.keys(details);
  if (changed.length > 0 && !before.isStaff && !before.isSuperuser)
    await endWeakerLogins(tx, user.id, staffSecondFactor);
  if (inClients.length + changed.length > 0) await endUndo(tx, user.id);
  const clients = [...new Set(inClients.map(({ client }) => client))];
  const keys = keysOf(inClients);
  const about = { actor, target: ofUser(user) };
  return {
    parts: [...withKeys(ended, keys), ...withKeys(roles, changed)],
    events: [
      ...inClients.map((change) => rolesEvent(about, change)),
      ...roleEvents({ ...about, clients }, details),
    ],
  };
};
