import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { newInvitationKey } from '../core/ids.ts';
import type { Actor } from './actor.ts';
import type { CheckedInvitation } from './invitation-checks.ts';
import { tables } from './tables.ts';

type Terms = { now: Date; expiresAt: Date };
type Written = CheckedInvitation & { id: number };

/**
 * Makes or renews all these invitations and owes their mails, in five statements whatever their number.
 * Rows are taken in the order of client and address, so that two bulks cannot wait for each other.
 */
export const writeInvitations = async (
  tx: SqlEntityManager,
  actor: Actor,
  items: readonly CheckedInvitation[],
  terms: Terms,
): Promise<number[]> => {
  if (items.length === 0) return [];
  const sorted = [...items].sort((a, b) => a.client - b.client || (a.email < b.email ? -1 : 1));
  await retireExpired(tx, sorted, terms.now);
  const pending = await pendingOf(tx, sorted);
  const ids = await upsert(tx, actor, sorted, pending, terms);

  const written = items.map((item) => ({ ...item, id: ids.get(slot(item.client, item.email)) ?? 0 }));
  await addApps(tx, written);
  await oweMails(tx, written, terms.now);
  return written.map(({ id }) => id);
};

const slot = (client: number, email: string): string => `${client} ${email}`;

/** Frees the place of a pending invitation whose time is over, and leaves it in the history. */
const retireExpired = (tx: SqlEntityManager, items: CheckedInvitation[], now: Date) =>
  sql`
    update invitations i set status = 'expired'
    from unnest(${items.map((item) => item.client)}::int[], ${items.map((item) => item.email)}::varchar[])
      as asked (client_id, email)
    where i.client_id = asked.client_id and i.email = asked.email
      and i.status = 'pending' and i.expires_at <= ${now}`.execute(tables(tx));

type Pending = { client_id: number; email: string; extra: Record<string, unknown>; is_demo_user: boolean };

/** What a repeated invitation leaves unsaid stays as it was. */
const pendingOf = async (tx: SqlEntityManager, items: CheckedInvitation[]): Promise<Map<string, Pending>> => {
  const rows = await tables(tx)
    .selectFrom('invitations')
    .select(['client_id', 'email', 'extra', 'is_demo_user'])
    .where('status', '=', 'pending')
    .where(sql<boolean>`email = any(${items.map((item) => item.email)}::varchar[])`)
    .where(sql<boolean>`client_id = any(${[...new Set(items.map((item) => item.client))]}::int[])`)
    .orderBy('client_id')
    .orderBy('email')
    .forUpdate()
    .execute();
  return new Map(rows.map((row) => [slot(row.client_id, row.email), row]));
};

const upsert = async (
  tx: SqlEntityManager,
  actor: Actor,
  items: CheckedInvitation[],
  pending: Map<string, Pending>,
  { now, expiresAt }: Terms,
): Promise<Map<string, number>> => {
  const before = (item: CheckedInvitation) => pending.get(slot(item.client, item.email));
  const { rows } = await sql<{ id: number; client_id: number; email: string }>`
    insert into invitations (client_id, email, key, extra, is_demo_user, inviter_id, date_invited, expires_at)
    select asked.*, ${actor.id}::int, ${now}::timestamptz, ${expiresAt}::timestamptz
    from unnest(
      ${items.map((item) => item.client)}::int[],
      ${items.map((item) => item.email)}::varchar[],
      ${items.map(newInvitationKey)}::varchar[],
      ${items.map((item) => JSON.stringify(item.extra ?? before(item)?.extra ?? {}))}::json[],
      ${items.map((item) => item.is_demo_user ?? before(item)?.is_demo_user ?? false)}::boolean[]) as asked
    on conflict (client_id, email) where status = 'pending' do update
      set extra = excluded.extra, is_demo_user = excluded.is_demo_user, expires_at = excluded.expires_at
    returning id, client_id, email`.execute(tables(tx));
  return new Map(rows.map((row) => [slot(row.client_id, row.email), row.id]));
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

const oweMails = (tx: SqlEntityManager, written: Written[], now: Date) =>
  sql`
    insert into outbox_mails (kind, recipient, client_id, invitation_id, created_at)
    select 'invitation', mail.email, mail.client_id, mail.invitation_id, ${now}::timestamptz
    from unnest(
      ${written.map((item) => item.email)}::varchar[],
      ${written.map((item) => item.client)}::int[],
      ${written.map((item) => item.id)}::int[]) as mail (email, client_id, invitation_id)`.execute(
    tables(tx),
  );
