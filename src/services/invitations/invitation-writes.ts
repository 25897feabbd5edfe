import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { newInvitationKeys } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { enqueueInvitationMails, tooManyMails } from '../mail/enqueue-mails.ts';
import type { CheckedInvitation } from './invitation-checks.ts';

type Terms = { now: Date; expiresAt: Date };
/** `key` is null if an existing invitation was renewed. */
export type WrittenInvitation = CheckedInvitation & { id: number; key: string | null };

/**
 * Creates or renews these invitations and enqueues their mails, with a fixed number of statements. Locks rows in the order
 * of client and address, so that two bulk requests cannot deadlock.
 * @throws Problem `throttled`, `overloaded`
 */
export const writeInvitations = async (
  tx: SqlEntityManager,
  actor: Actor,
  items: readonly CheckedInvitation[],
  terms: Terms,
): Promise<WrittenInvitation[]> => {
  if (items.length === 0) return [];
  const sorted = [...items].sort((a, b) => a.client - b.client || (a.email < b.email ? -1 : 1));
  const made = await insertNew(tx, actor, sorted, terms);
  const pending = sorted.filter((item) => !made.has(slotKey(item)));
  const stored = pending.length === 0 ? made : await renewOrReplace(tx, actor, pending, { made, terms });

  const written = items.map((item) => ({ ...item, ...storedIn(item, stored) }));
  await addApps(tx, written);
  const rejected = await enqueueInvitationMails(tx, written, terms.now);
  // A renewed invitation was mailed before, but a new one needs its mail.
  const refused = rejected.find(({ key }) => key !== null);
  if (refused) throw tooManyMails(refused);
  return written;
};

type Slot = { client: number; email: string };
type StoredInvitation = { id: number; key: string | null };
type StoredBySlot = Map<string, StoredInvitation>;

const slotKey = ({ client, email }: Slot): string => `${client} ${email}`;

const storedIn = (item: Slot, places: StoredBySlot): StoredInvitation => {
  const place = places.get(slotKey(item));
  // Another transaction accepted or revoked it after the insert found it pending.
  if (!place) throw new Problem('overloaded');
  return place;
};

type Row = StoredInvitation & { client_id: number; email: string };

const bySlot = (rows: Row[]): StoredBySlot =>
  new Map(rows.map(({ id, key, client_id: client, email }) => [slotKey({ client, email }), { id, key }]));

/** Replaces expired invitations and renews those that are still pending. */
const renewOrReplace = async (
  tx: SqlEntityManager,
  actor: Actor,
  pending: CheckedInvitation[],
  { made, terms }: { made: StoredBySlot; terms: Terms },
): Promise<StoredBySlot> => {
  await retireExpired(tx, pending, terms.now);
  const replaced = await insertNew(tx, actor, pending, terms);
  const open = pending.filter((item) => !replaced.has(slotKey(item)));
  return new Map([...made, ...replaced, ...(await renewPending(tx, open, terms))]);
};

const clientsOf = (items: readonly Slot[]): number[] => items.map(({ client }) => client);
const emailsOf = (items: readonly Slot[]): string[] => items.map(({ email }) => email);

/** Locks the pending rows of these slots, always in the same order. */
const lockSlots = (items: readonly Slot[]) => sql`
  select i.id from invitations i
  join unnest(${clientsOf(items)}::int[], ${emailsOf(items)}::varchar[])
    as asked (client_id, email) using (client_id, email)
  where i.status = 'pending'
  order by i.client_id, i.email
  for update of i`;

/** Sets the status of expired pending invitations, which frees their slots and keeps them in the history. */
const retireExpired = (tx: SqlEntityManager, items: Slot[], now: Date) =>
  sql`
    with pending as (${lockSlots(items)})
    update invitations set status = 'expired' from pending
    where invitations.id = pending.id and expires_at <= ${now}`.execute(tables(tx));

/** Skips slots that are taken, after waiting for concurrent inserts. The caller renews those. */
const insertNew = async (
  tx: SqlEntityManager,
  actor: Actor,
  items: CheckedInvitation[],
  { now, expiresAt }: Terms,
): Promise<StoredBySlot> => {
  const { rows } = await sql<Row>`
    insert into invitations (client_id, email, key, extra, is_demo_user, inviter_id, date_invited, expires_at)
    select asked.*, ${actor.id}::int, ${now}::timestamptz, ${expiresAt}::timestamptz
    from unnest(
      ${clientsOf(items)}::int[],
      ${emailsOf(items)}::varchar[],
      ${newInvitationKeys(items.length)}::varchar[],
      ${items.map((item) => JSON.stringify(item.extra ?? {}))}::json[],
      ${items.map((item) => item.is_demo_user ?? false)}::boolean[]) as asked
    on conflict (client_id, email) where status = 'pending' do nothing
    returning id, key, client_id, email`.execute(tables(tx));
  return bySlot(rows);
};

/** Omitted fields keep their values, and the first inviter remains. */
const renewPending = async (tx: SqlEntityManager, items: CheckedInvitation[], { expiresAt }: Terms) => {
  if (items.length === 0) return new Map();
  await lockSlots(items).execute(tables(tx));
  const { rows } = await sql<Row>`
    update invitations i
    set extra = coalesce(asked.extra, i.extra),
      is_demo_user = coalesce(asked.is_demo_user, i.is_demo_user),
      expires_at = ${expiresAt}::timestamptz
    from unnest(
      ${clientsOf(items)}::int[],
      ${emailsOf(items)}::varchar[],
      ${items.map((item) => (item.extra === undefined ? null : JSON.stringify(item.extra)))}::json[],
      ${items.map((item) => item.is_demo_user ?? null)}::boolean[])
      as asked (client_id, email, extra, is_demo_user)
    where i.client_id = asked.client_id and i.email = asked.email and i.status = 'pending'
    returning i.id, null as key, i.client_id, i.email`.execute(tables(tx));
  return bySlot(rows);
};

/** Adds apps. A renewed invitation keeps the apps that it had. */
const addApps = async (tx: SqlEntityManager, written: readonly WrittenInvitation[]): Promise<void> => {
  const pairs = written.flatMap(({ id, initial_apps }) => initial_apps.map((appId) => ({ id, appId })));
  if (pairs.length === 0) return;
  await sql`
    insert into invitation_apps (invitation_id, app_id)
    select * from unnest(${pairs.map(({ id }) => id)}::int[], ${pairs.map(({ appId }) => appId)}::varchar[])
    on conflict do nothing`.execute(tables(tx));
};
