import { type RawBuilder, sql } from 'kysely';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { newInvitationKeys } from '../../lib/ids.ts';
import { type FieldErrors, invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession, soleClient } from '../access/actor.ts';
import { mayGiveRoles } from '../access/permissions.ts';
import { isAllowedIn } from '../access/visibility.ts';
import { type AuditEvent, ofInvitation } from '../audit/audit.ts';
import { readManagedClient } from '../clients/clients.ts';
import { enqueueInvitationMails, isMailed, tooManyMails } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  type InvitationRow,
  invitationEnd,
  lockInvitation,
  namedOffer,
  readInvitations,
} from './invitation-rows.ts';

export type InvitationInput = {
  email: string;
  first_name?: string | undefined;
  last_name?: string | undefined;
  client?: number | undefined;
  extra?: Record<string, unknown> | undefined;
  initial_apps: string[];
  /** Ids of groups of the client. */
  groups?: number[] | undefined;
  /** When the grants of `initial_apps` end. */
  apps_expire_at?: Date | null | undefined;
  is_demo_user?: boolean | undefined;
  /** Names of the roles that the invitee gets in the client. */
  roles?: string[] | undefined;
};
/** One element of the input: its value, or null, and the validation errors. */
export type InvitationElement = { value: InvitationInput | null; faults: FieldErrors };
/** A valid element with its client, and the key for its invitation if none is pending. */
type CheckedInvitation = InvitationInput & { client: number; key: string };

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'audit' | 'invitationMs'>;

/** `fieldPath`: the path of an element's field in errors. */
type Options = { dryRun?: boolean; fieldPath?: (index: number, field: string) => string };

/**
 * Creates all invitations or none, and enqueues their mails. Returns one invitation per element, in the same order; pending invitations are
 * renewed. A dry run does the same work and rolls it back.
 * @throws Problem `invalid-input` with all errors, as `items.{index}.{field}`, `throttled`, `reauthentication-required` to give a role
 */
export const invite = async (
  { em, clock, audit, invitationMs }: Deps,
  actor: Actor,
  elements: readonly InvitationElement[],
  { dryRun = false, fieldPath = (index, field) => `items.${index}.${field}` }: Options = {},
): Promise<InvitationRow[]> => {
  const checked = await checkInvitations({ em, clock }, actor, elements, fieldPath);
  if (!dryRun && checked.some(({ roles = [] }) => roles.length > 0))
    requireConfirmedSession(actor, clock.now());
  let rows: InvitationRow[] = [];
  const rollback = new Error('dry run');
  // Nested in an outer transaction, if any: a separate one would need a second connection.
  const done = em.transactional(async (tx) => {
    const now = clock.now();
    const written = await writeInvitations(tx, checked, { inviterId: actor.id, now, invitationMs });
    const events = written.map(({ id, isNew, email, client, initial_apps: apps, ...offer }): AuditEvent => {
      const details = { id, apps, ...namedOffer(offer) };
      const about = { actor, target: ofInvitation({ id, email }), clients: [client], details };
      return { action: isNew ? 'invitation.create' : 'invitation.renew', ...about };
    });
    await audit.record(tx, events);
    rows = await readInvitations(
      tx,
      actor,
      now,
      written.map(({ id }) => id),
    );
    if (dryRun) throw rollback;
  });
  await done.catch((error: unknown) => {
    if (error !== rollback) throw error;
  });
  return rows;
};

/**
 * Creates one invitation. The path names the client, so errors have no element index.
 * @throws Problem `not-found`, `forbidden`, `invalid-input`, `throttled`
 */
export const inviteToClient = async (
  deps: Deps,
  actor: Actor,
  client: number,
  input: Omit<InvitationInput, 'client'>,
): Promise<InvitationRow> => {
  await readManagedClient(deps.em, actor, client, 'manage-people');
  const element = { value: { ...input, client }, faults: {} };
  const [row] = await invite(deps, actor, [element], { fieldPath: (_, field) => field });
  if (!row) throw notFound('invitation');
  return row;
};

/**
 * Sends the mail again and restarts the lifetime, even of an expired invitation; once per operation.
 * @throws Problem `not-found`, `forbidden`, `invitation-closed`, `invalid-input` on `email`, `throttled`
 */
export const renewInvitation = async (
  tx: Em,
  { clock, audit, invitationMs }: Omit<Deps, 'em'>,
  actor: Actor,
  id: number,
  operationId?: string,
): Promise<void> => {
  const invitation = await lockInvitation(tx, actor, id, 'manage-credentials');
  if (operationId && (await isMailed(tx, operationId, { invitation_id: id }))) return;
  const now = clock.now();
  if (!invitation.renew(invitationEnd(now, invitationMs))) throw new Problem('invitation-closed');
  await tx.flush();
  const { email, client } = invitation;
  const [rejected] = await enqueueInvitationMails(tx, [{ id, client: client.id, email }], now, operationId);
  if (rejected) throw tooManyMails(rejected);
  await audit.record(tx, [
    {
      action: 'invitation.resend',
      actor,
      target: ofInvitation(invitation),
      clients: [client.id],
      details: { id },
    },
  ]);
};

/** Bounds the size of the error response. */
const MAX_FAULTS = 1_000;

/**
 * Checks all elements with five statements, and reports all errors together. For a client that the actor does not manage, reports only
 * that: other errors could reveal the client's apps and users.
 * @throws Problem `invalid-input`
 */
const checkInvitations = async (
  { em, clock }: Pick<Deps, 'em' | 'clock'>,
  actor: Actor,
  elements: readonly InvitationElement[],
  fieldPath: NonNullable<Options['fieldPath']>,
) => {
  const ownClient = soleClient(actor, 'manage-people');
  const clientOfApp = await readClientsOfApps(em, actor, elements);
  const named = elements.map(({ value }) => {
    if (!value) return null;
    const { client = ownClient ?? clientOfApp.get(value.initial_apps[0] ?? ''), ...others } = value;
    return { ...others, client };
  });
  const values = named.filter((value) => value !== null);
  const known = { clientOfApp, ...(await readKnown(em, actor, values)) };
  const fields = new Map<string, string[]>();
  const checked: CheckedInvitation[] = [];
  const now = clock.now();
  const keys = newInvitationKeys(elements.length);

  for (const [index, { faults }] of elements.entries()) {
    const value = named[index];
    const all = value ? { ...faults, ...faultsOf(actor, value, index, known, now) } : faults;
    if (value?.client !== undefined) checked.push({ ...value, client: value.client, key: keys[index] ?? '' });
    for (const [field, messages] of Object.entries(all)) fields.set(fieldPath(index, field), messages);
    if (fields.size >= MAX_FAULTS) break;
  }
  if (fields.size > 0) throw invalid(Object.fromEntries(fields));
  return checked;
};

type Known = { clientOfApp: Map<string, number> } & Awaited<ReturnType<typeof readKnown>>;

export const cannotGiveRoles = (client: number): string => `You cannot give these roles in client ${client}.`;

const faultsOf = (
  actor: Actor,
  { client, email, initial_apps, groups = [], apps_expire_at: end, roles = [] }: InvitationInput,
  index: number,
  { clientOfApp, clientOfGroup, clients, members, firstOf }: Known,
  now: Date,
): FieldErrors => {
  const firstIndex = firstOf.get(email);
  if (firstIndex === undefined) firstOf.set(email, index);
  if (client === undefined) return { client: ['`client` is required.'] };
  if (!clients.has(client)) return { client: [`You cannot invite to client ${client}.`] };

  const faults: FieldErrors = {};
  if (firstIndex !== undefined) faults.email = [`Element ${firstIndex} already invites this address.`];
  if (members.has(`${client} ${email}`)) {
    faults.email = ['An active user of this client already has this address.'];
  }
  const foreign = initial_apps.filter((id) => clientOfApp.get(id) !== client);
  if (foreign.length > 0) {
    faults.initial_apps = foreign.slice(0, 10).map((id) => `This client has no app ${id}.`);
  }
  const unknown = groups.filter((id) => clientOfGroup.get(id) !== client);
  if (unknown.length > 0) faults.groups = unknown.slice(0, 10).map((id) => `This client has no group ${id}.`);
  if (roles.length > 0 && !mayGiveRoles(actor, roles, client)) faults.roles = [cannotGiveRoles(client)];
  if (end && end <= now) faults.apps_expire_at = ['Must be in the future.'];
  return faults;
};

/** By app, the client, if the actor manages it. */
const readClientsOfApps = async (em: Em, actor: Actor, elements: readonly InvitationElement[]) => {
  const ids = new Set(elements.flatMap(({ value }) => value?.initial_apps ?? []));
  const apps = await kysely(em)
    .selectFrom('apps')
    .select(['client_id', 'id'])
    .where(isAnyOf('id', ids, 'varchar'))
    .where(isAllowedIn(sql`client_id`, actor, 'manage-people'))
    .execute();
  return new Map(apps.map(({ id, client_id: client }) => [id, client]));
};

/** The named clients that the actor manages; for these, the named groups, and active members as `{client id} {email}`. */
const readKnown = async (em: Em, actor: Actor, items: readonly InvitationInput[]) => {
  const db = kysely(em);
  const named = [...new Set(items.flatMap(({ client }) => client ?? []))];
  const managed = await db
    .selectFrom('clients')
    .select('id')
    .where(isAnyOf('id', named, 'int'))
    .where(isAllowedIn(sql`id`, actor, 'manage-people'))
    .execute();
  const clients = new Set(managed.map(({ id }) => id));
  const isManaged = isAnyOf('client_id', clients, 'int');
  const emails = items.map((item) => item.email);

  const groups = await db
    .selectFrom('groups')
    .select(['client_id', 'id'])
    .where(isAnyOf('id', new Set(items.flatMap((item) => item.groups ?? [])), 'int'))
    .where(isManaged)
    .execute();
  const members = await db
    .selectFrom('users')
    .innerJoin('memberships', 'memberships.user_id', 'users.id')
    .select(['client_id', 'email'])
    .where('users.is_active', '=', true)
    .where('memberships.is_active_member', '=', true)
    .where(isManaged)
    .where(isAnyOf('email', emails, 'varchar'))
    .execute();
  return {
    clients,
    clientOfGroup: new Map(groups.map(({ id, client_id: client }) => [id, client])),
    members: new Set(members.map(({ client_id, email }) => `${client_id} ${email}`)),
    /** The index of the first element that invites an address. */
    firstOf: new Map<string, number>(),
  };
};

type Writing = { inviterId: number; now: Date; invitationMs: number };

/**
 * Creates or renews these invitations and enqueues their mails, with a fixed number of statements. Locks rows in the order of client and
 * address, so that two bulk requests cannot deadlock.
 * @returns `isNew` is false if a pending invitation was renewed
 * @throws Problem `throttled`
 */
const writeInvitations = async (tx: Em, items: readonly CheckedInvitation[], writing: Writing) => {
  if (items.length === 0) return [];
  const asked = asRows(items);
  await replaceExpired(tx, items, writing.now);
  const rows = await upsert(tx, items, asked, writing);
  if (rows.some(({ isNew }) => !isNew)) await renew(tx, asked, writing.inviterId);
  const written = rows.flatMap(({ n, ...row }) => {
    const item = items[n];
    return item ? { ...item, ...row } : [];
  });
  const rejected = await enqueueInvitationMails(tx, written, writing.now);
  // A renewed invitation was mailed before, but a new one needs its mail.
  const refused = rejected.find(({ isNew }) => isNew);
  if (refused) throw tooManyMails(refused);
  return written;
};

type Asked = RawBuilder<unknown>;

/** SQL: a table of the elements. `extra` is text: if PostgreSQL parsed it with its row, it would reject the escapes of lone surrogates. */
const asRows = (items: readonly CheckedInvitation[]): Asked => {
  const column = (name: Exclude<keyof CheckedInvitation, 'extra' | 'roles'>) =>
    items.map((item) => item[name] ?? null);
  const extras = items.map(({ extra }) => extra && JSON.stringify(extra));
  const roles = items.map(({ roles: names = [] }) => (names.length > 0 ? JSON.stringify(names) : null));
  return sql`unnest(${column('client')}::int[], ${column('email')}::varchar[], ${column('first_name')}::varchar[],
      ${column('last_name')}::varchar[], ${column('key')}::varchar[], ${extras}::text[], ${column('is_demo_user')}::boolean[],
      ${column('apps_expire_at')}::timestamptz[], ${roles}::json[])
    with ordinality as asked (client, email, first_name, last_name, key, extra, is_demo_user, apps_expire_at, roles, n)`;
};

/** SQL: the names of the roles of an element; null without roles. */
const ASKED_ROLES = sql`case when asked.roles is not null then array(select json_array_elements_text(asked.roles)) end`;

/** SQL: the lists of the elements, such as apps, as rows with the ordinal number of the element. */
const asPairs = (lists: readonly (readonly (number | string)[])[], type: 'int' | 'varchar') => {
  const ordinals = lists.flatMap((list, index) => list.map(() => index + 1));
  return sql`select * from unnest(${ordinals}::int[], ${lists.flat()}::${sql.raw(`${type}[]`)})`;
};

/** Expired invitations stay in the history. */
const replaceExpired = (tx: Em, items: readonly CheckedInvitation[], now: Date) => {
  const clients = items.map(({ client }) => client);
  const emails = items.map(({ email }) => email);
  return sql`
    update invitations set status = 'expired' where id in (
      select i.id from invitations i
        join unnest(${clients}::int[], ${emails}::varchar[]) as asked (client, email)
          on i.client_id = asked.client and i.email = asked.email
      where i.status = 'pending' and i.expires_at <= ${now}
      order by i.client_id, i.email collate "C" for update of i)`.execute(kysely(tx));
};

/**
 * Inserts new invitations and extends pending ones, which keep their apps and groups. A client has at most one pending invitation per
 * address.
 * @returns the rows in the order of the elements; `n` is the index of the element
 */
const upsert = async (
  tx: Em,
  items: readonly CheckedInvitation[],
  asked: Asked,
  { inviterId, now, invitationMs }: Writing,
) => {
  const apps = items.map(({ initial_apps }) => initial_apps);
  const groups = items.map(({ groups: ids = [] }) => ids);
  const { rows } = await sql<{ n: number; id: number; isNew: boolean }>`
    with asked as materialized (select * from ${asked}),
    written as (
      insert into invitations (client_id, email, first_name, last_name, key, extra, is_demo_user, inviter_id, date_invited, expires_at,
        apps_expire_at, roles, roles_by)
      select asked.client, email, coalesce(first_name, ''), coalesce(last_name, ''), key, coalesce(extra::json, '{}'), coalesce(is_demo_user, false),
        ${inviterId}::int, ${now}::timestamptz,
        ${invitationEnd(now, invitationMs)}::timestamptz, apps_expire_at, coalesce(${ASKED_ROLES}, '{}'),
        case when asked.roles is not null then ${inviterId}::int end
      from asked order by asked.client, email collate "C"
      on conflict (client_id, email) where status = 'pending' do update set expires_at = excluded.expires_at
      returning id, key, client_id, email
    ),
    found as (
      select asked.n, written.id, written.key = asked.key as is_new
      from written join asked on asked.client = written.client_id and asked.email = written.email
    ),
    listed_apps (n, app_id) as (${asPairs(apps, 'varchar')}),
    listed_groups (n, group_id) as (${asPairs(groups, 'int')}),
    invited as (
      insert into invitation_apps (invitation_id, app_id)
      select id, app_id from found join listed_apps using (n)
      on conflict do nothing
    ),
    grouped as (
      insert into invitation_groups (invitation_id, group_id)
      select id, group_id from found join listed_groups using (n)
      on conflict do nothing
    )
    select n::int - 1 as n, id, is_new as "isNew" from found order by n`.execute(kysely(tx));
  return rows;
};

/** Updates the given fields of pending invitations. Omitted fields keep their values, and the first inviter remains. */
const renew = (tx: Em, asked: Asked, inviterId: number) =>
  sql`
    update invitations i
    set extra = coalesce(asked.extra::json, i.extra), is_demo_user = coalesce(asked.is_demo_user, i.is_demo_user),
      apps_expire_at = coalesce(asked.apps_expire_at, i.apps_expire_at),
      roles = coalesce(${ASKED_ROLES}, i.roles),
      roles_by = case when asked.roles is not null then ${inviterId}::int else i.roles_by end,
      first_name = coalesce(asked.first_name, i.first_name), last_name = coalesce(asked.last_name, i.last_name)
    from ${asked} where i.client_id = asked.client and i.email = asked.email and i.status = 'pending'
      and i.key <> asked.key`.execute(kysely(tx));
