import { sql } from 'kysely';
import { invitationExpiry } from '../../../entities/invitation.ts';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { newInvitationKey } from '../../lib/ids.ts';
import { type FieldErrors, invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin, soleAdminClient } from '../access/actor.ts';
import { clientManagedBy } from '../access/visibility.ts';
import type { AuditEvent } from '../audit/audit.ts';
import { readClient } from '../clients/clients.ts';
import { enqueueInvitationMails, isMailed, tooManyMails } from '../mail/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type InvitationRow, lockInvitation, readInvitations } from './invitation-rows.ts';

export type InvitationInput = {
  email: string;
  client?: number | undefined;
  extra?: Record<string, unknown> | undefined;
  initial_apps: string[];
  is_demo_user?: boolean | undefined;
};
/** One element of the input: its value, or null, and the validation errors. */
export type InvitationElement = { value: InvitationInput | null; faults: FieldErrors };
/** A valid element with its client resolved. */
type CheckedInvitation = InvitationInput & { client: number };
/** `isNew` is false if a pending invitation was renewed. */
type WrittenInvitation = CheckedInvitation & { id: number; key: string; isNew: boolean };

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'audit' | 'invitationDays'>;

/**
 * Creates all or none, and enqueues their mails. Returns one invitation per element, in the same order; pending invitations are
 * renewed. A dry run does the same work and rolls it back.
 * @throws Problem `invalid-input` with all errors, as `items.{index}.{field}`, `throttled`
 */
export const invite = async (
  { em, clock, audit, invitationDays }: Deps,
  actor: Actor,
  elements: readonly InvitationElement[],
  { dryRun } = { dryRun: false },
): Promise<InvitationRow[]> => {
  const checked = await checkInvitations(em, actor, elements);
  let rows: InvitationRow[] = [];
  const rollback = new Error('dry run');
  // Nested in an outer transaction, if any: a separate one would need a second connection.
  const done = em.transactional(async (tx) => {
    const now = clock.now();
    const expiresAt = invitationExpiry(now, invitationDays);
    const written = await writeInvitations(tx, actor, checked, { now, expiresAt });
    const events = written.map(({ id, isNew, email, client, initial_apps: apps }): AuditEvent => {
      const action = isNew ? 'invitation.create' : 'invitation.renew';
      return { action, actor, target: email, clients: [client], details: { id, apps } };
    });
    await audit.record(tx, events);
    rows = await readInvitations(
      tx,
      actor,
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
  await readClient(deps.em, actor, client);
  requireClientAdmin(actor, client);
  const element = { value: { ...input, client }, faults: {} };
  const [row] = await invite(deps, actor, [element]).catch(rethrowAsSingle);
  if (!row) throw notFound('invitation');
  return row;
};

/** Removes the element index from error fields: `items.0.email` becomes `email`. */
const rethrowAsSingle = (error: unknown): never => {
  if (!(error instanceof Problem) || !error.fields) throw error;
  const fields = Object.entries(error.fields).map(([path, faults]) => [path.replace('items.0.', ''), faults]);
  throw invalid(Object.fromEntries(fields), error);
};

/**
 * Sends the mail again and restarts the lifetime, also of an expired invitation; once per operation.
 * @throws Problem `not-found`, `forbidden`, `invitation-closed`, `throttled`
 */
export const renewInvitation = async (
  tx: Em,
  { clock, audit, invitationDays }: Omit<Deps, 'em'>,
  actor: Actor,
  id: number,
  operationId?: string,
): Promise<void> => {
  const invitation = await lockInvitation(tx, actor, id);
  if (operationId && (await isMailed(tx, operationId, { invitation_id: id }))) return;
  const now = clock.now();
  if (!invitation.renew(now, invitationDays)) throw new Problem('invitation-closed');
  await tx.flush();
  const { email, client } = invitation;
  const [rejected] = await enqueueInvitationMails(tx, [{ id, client: client.id, email }], now, operationId);
  if (rejected) throw tooManyMails(rejected);
  await audit.record(tx, [
    { action: 'invitation.resend', actor, target: email, clients: [client.id], details: { id } },
  ]);
};

/** Bounds the size of the error response. */
const MAX_FAULTS = 1_000;

/**
 * Checks all elements with three statements and reports all errors together, as `items.{index}.{field}`. For a client that
 * the actor does not manage, only the client error is reported: other errors could reveal that client's apps and users.
 * @throws Problem `invalid-input`
 */
const checkInvitations = async (em: Em, actor: Actor, elements: readonly InvitationElement[]) => {
  const ownClient = soleAdminClient(actor);
  const named = elements.map(({ value }) =>
    value && value.client === undefined ? { ...value, client: ownClient } : value,
  );
  const known = await readKnown(
    em,
    actor,
    named.filter((value) => value !== null),
  );
  const fields = new Map<string, string[]>();
  const checked: CheckedInvitation[] = [];

  for (const [index, { faults }] of elements.entries()) {
    const value = named[index];
    const all = value ? { ...faults, ...faultsOf(value, index, known) } : faults;
    if (value?.client !== undefined) checked.push({ ...value, client: value.client });
    for (const [field, messages] of Object.entries(all)) fields.set(`items.${index}.${field}`, messages);
    if (fields.size >= MAX_FAULTS) break;
  }
  if (fields.size > 0) throw invalid(Object.fromEntries(fields));
  return checked;
};

type Known = Awaited<ReturnType<typeof readKnown>>;

const faultsOf = (
  { client, email, initial_apps }: InvitationInput,
  index: number,
  { clientOfApp, clients, members, firstOf }: Known,
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
  return faults;
};

/**
 * The named clients that the actor manages; of these, the named apps, and active members as
 * `{client id} {email}`.
 */
const readKnown = async (em: Em, actor: Actor, items: readonly InvitationInput[]) => {
  const db = kysely(em);
  const named = [...new Set(items.flatMap(({ client }) => client ?? []))];
  const managed = await db
    .selectFrom('clients')
    .select('id')
    .where(isAnyOf('id', named, 'int'))
    .where(clientManagedBy(actor, sql`id`))
    .execute();
  const clients = new Set(managed.map(({ id }) => id));
  const visible = items.filter(({ client }) => client !== undefined && clients.has(client));
  const isManaged = isAnyOf('client_id', clients, 'int');

  const apps = await db
    .selectFrom('apps')
    .select(['client_id', 'id'])
    .where(isAnyOf('id', [...new Set(visible.flatMap((item) => item.initial_apps))], 'varchar'))
    .where(isManaged)
    .execute();
  const members = await db
    .selectFrom('users')
    .innerJoin('memberships', 'memberships.user_id', 'users.id')
    .select(['client_id', 'email'])
    .where('is_active', '=', true)
    .where(isManaged)
    .where(
      isAnyOf(
        'email',
        visible.map((item) => item.email),
        'varchar',
      ),
    )
    .execute();
  return {
    clients,
    clientOfApp: new Map(apps.map(({ id, client_id: client }) => [id, client])),
    members: new Set(members.map(({ client_id, email }) => `${client_id} ${email}`)),
    /** Email → index of the first element that invites it. */
    firstOf: new Map<string, number>(),
  };
};

type Lifetime = { now: Date; expiresAt: Date };
type KeyedInvitation = CheckedInvitation & { key: string };
type StoredInvitation = { id: number; key: string; client: number; email: string };

/**
 * Creates or renews these invitations and enqueues their mails, with a fixed number of statements. Locks rows in the order
 * of client and address, so that two bulk requests cannot deadlock.
 * @throws Problem `throttled`
 */
const writeInvitations = async (
  tx: Em,
  actor: Actor,
  items: readonly CheckedInvitation[],
  lifetime: Lifetime,
): Promise<WrittenInvitation[]> => {
  if (items.length === 0) return [];
  const asked = items.map((item) => ({ ...item, key: newInvitationKey() }));
  const sorted = asked.toSorted(byClientAndEmail);
  await replaceExpired(tx, sorted, lifetime.now);
  const stored = await upsert(tx, actor, sorted, lifetime);
  const written = asked.flatMap((item): WrittenInvitation[] => {
    const row = stored.get(slotKey(item));
    return row ? [{ ...item, ...row, isNew: row.key === item.key }] : [];
  });
  await renew(tx, written);
  await addApps(tx, written);
  const rejected = await enqueueInvitationMails(tx, written, lifetime.now);
  // A renewed invitation was mailed before, but a new one needs its mail.
  const refused = rejected.find(({ isNew }) => isNew);
  if (refused) throw tooManyMails(refused);
  return written;
};

const byClientAndEmail = (a: KeyedInvitation, b: KeyedInvitation): number =>
  a.client - b.client || (a.email < b.email ? -1 : 1);

/** A client has at most one pending invitation of an address. */
const slotKey = ({ client, email }: Pick<StoredInvitation, 'client' | 'email'>): string =>
  `${client} ${email}`;

/** Expired invitations stay in the history. */
const replaceExpired = (tx: Em, asked: KeyedInvitation[], now: Date) =>
  sql`
    update invitations set status = 'expired' where id in (
      select i.id from invitations i
      join unnest(${asked.map(({ client }) => client)}::int[], ${asked.map(({ email }) => email)}::varchar[])
        as asked (client, email) on i.client_id = asked.client and i.email = asked.email
      where i.status = 'pending' and i.expires_at <= ${now}
      order by i.client_id, i.email for update of i)`.execute(kysely(tx));

/** Inserts new invitations and extends pending ones. */
const upsert = async (tx: Em, actor: Actor, asked: KeyedInvitation[], { now, expiresAt }: Lifetime) => {
  const { rows } = await sql<StoredInvitation>`
    insert into invitations (client_id, email, key, extra, is_demo_user, inviter_id, date_invited, expires_at)
    select client, email, key, coalesce(extra::json, '{}'), coalesce(is_demo_user, false),
      ${actor.id}::int, ${now}::timestamptz, ${expiresAt}::timestamptz
    from ${asRows(asked)}
    on conflict (client_id, email) where status = 'pending' do update set expires_at = excluded.expires_at
    returning id, key, client_id as client, email`.execute(kysely(tx));
  return new Map(rows.map((row) => [slotKey(row), row]));
};

/** Updates what was given for pending invitations. Omitted fields keep their values, and the first inviter remains. */
const renew = async (tx: Em, written: readonly WrittenInvitation[]): Promise<void> => {
  const renewed = written.filter(({ isNew }) => !isNew);
  if (renewed.length === 0) return;
  await sql`
    update invitations i
    set extra = coalesce(asked.extra::json, i.extra), is_demo_user = coalesce(asked.is_demo_user, i.is_demo_user)
    from ${asRows(renewed)} where i.id = asked.id`.execute(kysely(tx));
};

/** A renewed invitation keeps the apps that it had. */
const addApps = async (tx: Em, written: readonly WrittenInvitation[]): Promise<void> => {
  const apps = written.flatMap(({ id, initial_apps }) => initial_apps.map((app) => ({ id, app })));
  await sql`
    insert into invitation_apps (invitation_id, app_id)
    select * from unnest(${apps.map(({ id }) => id)}::int[], ${apps.map(({ app }) => app)}::varchar[])
    on conflict do nothing`.execute(kysely(tx));
};

/** `extra` as text: parsed with its row, PostgreSQL would reject the escapes of lone surrogates in it. */
const asRows = (items: readonly (KeyedInvitation & { id?: number })[]) => {
  const rows = items.map(({ initial_apps: _, ...item }) => ({
    ...item,
    extra: item.extra && JSON.stringify(item.extra),
  }));
  return sql`json_to_recordset(${JSON.stringify(rows)}::json) as asked
    (id int, client int, email varchar, key varchar, extra text, is_demo_user boolean)`;
};
