import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { newInvitationKey } from '../../core/ids.ts';
import { Problem } from '../../core/problems.ts';
import type { Actor } from '../actor.ts';
import { oweInvitationMails } from '../mail/owed-mails.ts';
import { tables } from '../tables.ts';
import type { CheckedInvitation } from './invitation-checks.ts';

type Terms = { now: Date; expiresAt: Date };
type Written = CheckedInvitation & { id: number };

/**
 * Makes or renews all these invitations and owes their mails, in a handful of statements whatever their number.
 * Rows are taken in the order of client and address, so that two bulks cannot wait for each other.
 */
export const writeInvitations = async (
  tx: SqlEntityManager,
  actor: Actor,
  items: readonly CheckedInvitation[],
  terms: Terms,
): Promise<{ ids: number[]; renewed: Set<number> }> => {
  if (items.length === 0) return { ids: [], renewed: new Set() };
  const sorted = [...items].sort((a, b) => a.client - b.client || (a.email < b.email ? -1 : 1));
  await retireExpired(tx, sorted, terms.now);
  const made = await insertNew(tx, actor, sorted, terms);
  const renewed = await renewPending(
    tx,
    sorted.filter((item) => !made.has(slot(item))),
    terms,
  );

  const written = items.map((item) => ({ ...item, id: idOf(item, made, renewed) }));
  await addApps(tx, written);
  await oweInvitationMails(tx, written, terms.now);
  return { ids: written.map(({ id }) => id), renewed: new Set(renewed.values()) };
};

type Slot = { client: number; email: string };
type Ids = Map<string, number>;

const slot = ({ client, email }: Slot): string => `${client} ${email}`;

const idOf = (item: Slot, made: Ids, renewed: Ids): number => {
  const id = made.get(slot(item)) ?? renewed.get(slot(item));
  // Accepted or revoked by another transaction after the insert had found it pending.
  if (id === undefined) throw new Problem('overloaded');
  return id;
};

const idsBySlot = (rows: { id: number; client_id: number; email: string }[]): Ids =>
  new Map(rows.map(({ id, client_id: client, email }) => [slot({ client, email }), id]));

/** The rows of these slots, in the one order in which all take them. */
const inSlots = (items: readonly Slot[]) => sql`
  select i.id from invitations i
  join unnest(${items.map((item) => item.client)}::int[], ${items.map((item) => item.email)}::varchar[])
    as asked (client_id, email) using (client_id, email)
  where i.status = 'pending'
  order by i.client_id, i.email
  for update of i`;

/** Frees the place of a pending invitation whose time is over, and leaves it in the history. */
const retireExpired = (tx: SqlEntityManager, items: Slot[], now: Date) =>
  sql`
    with pending as (${inSlots(items)})
    update invitations set status = 'expired' from pending
    where invitations.id = pending.id and expires_at <= ${now}`.execute(tables(tx));

/** Waits for another transaction that is making the same one, and then leaves it to be renewed. */
const insertNew = async (
  tx: SqlEntityManager,
  actor: Actor,
  items: CheckedInvitation[],
  { now, expiresAt }: Terms,
): Promise<Ids> => {
  const { rows } = await sql<{ id: number; client_id: number; email: string }>`
    insert into invitations (client_id, email, key, extra, is_demo_user, inviter_id, date_invited, expires_at)
    select asked.*, ${actor.id}::int, ${now}::timestamptz, ${expiresAt}::timestamptz
    from unnest(
      ${items.map((item) => item.client)}::int[],
      ${items.map((item) => item.email)}::varchar[],
      ${items.map(newInvitationKey)}::varchar[],
      ${items.map((item) => JSON.stringify(item.extra ?? {}))}::json[],
      ${items.map((item) => item.is_demo_user ?? false)}::boolean[]) as asked
    on conflict (client_id, email) where status = 'pending' do nothing
    returning id, client_id, email`.execute(tables(tx));
  return idsBySlot(rows);
};

/** What a repeated invitation leaves unsaid stays as it was; who invited first remains the inviter. */
const renewPending = async (
  tx: SqlEntityManager,
  items: CheckedInvitation[],
  { expiresAt }: Terms,
): Promise<Ids> => {
  if (items.length === 0) return new Map();
  await inSlots(items).execute(tables(tx));
  const { rows } = await sql<{ id: number; client_id: number; email: string }>`
    update invitations i
    set extra = coalesce(asked.extra, i.extra),
      is_demo_user = coalesce(asked.is_demo_user, i.is_demo_user),
      expires_at = ${expiresAt}::timestamptz
    from unnest(
      ${items.map((item) => item.client)}::int[],
      ${items.map((item) => item.email)}::varchar[],
      ${items.map((item) => (item.extra === undefined ? null : JSON.stringify(item.extra)))}::json[],
      ${items.map((item) => item.is_demo_user ?? null)}::boolean[])
      as asked (client_id, email, extra, is_demo_user)
    where i.client_id = asked.client_id and i.email = asked.email and i.status = 'pending'
    returning i.id, i.client_id, i.email`.execute(tables(tx));
  return idsBySlot(rows);
};

/** Those of a repeated invitation are added to the ones it had. */
const addApps = async (tx: SqlEntityManager, written: Written[]): Promise<void> => {
  const pairs = written.flatMap(({ id, initial_apps }) => initial_apps.map((appId) => ({ id, appId })));
  if (pairs.length === 0) return;
  await sql`
    insert into invitation_apps (invitation_id, app_id)
    select * from unnest(${pairs.map((pair) => pair.id)}::int[], ${pairs.map((pair) => pair.appId)}::varchar[])
    on conflict do nothing`.execute(tables(tx));
};
