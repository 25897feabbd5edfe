import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { newInvitationKeys } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { enqueueInvitationMails, tooManyMails } from '../mail/enqueue-mails.ts';
import type { CheckedInvitation } from './invitation-checks.ts';

type Terms = { now: Date; expiresAt: Date };
type Asked = CheckedInvitation & { key: string | undefined };
type Stored = { id: number; key: string; client: number; email: string };
/** `isNew` is false if a pending invitation was renewed. */
export type WrittenInvitation = CheckedInvitation & { id: number; key: string; isNew: boolean };

/**
 * Creates or renews these invitations and enqueues their mails, with a fixed number of statements. Locks rows in the order
 * of client and address, so that two bulk requests cannot deadlock.
 * @throws Problem `throttled`, `overloaded`
 */
export const writeInvitations = async (
  tx: Db,
  actor: Actor,
  items: readonly CheckedInvitation[],
  terms: Terms,
): Promise<WrittenInvitation[]> => {
  if (items.length === 0) return [];
  const keys = newInvitationKeys(items.length);
  const asked = items.map((item, index): Asked => ({ ...item, key: keys[index] }));
  const stored = await store(tx, actor, asked.toSorted(byClientAndEmail), terms);
  const written = asked.map((item): WrittenInvitation => {
    const row = stored.get(slotKey(item));
    // Another instance, whose clock is days behind, invited the address at the same time.
    if (!row) throw new Problem('overloaded');
    return { ...item, id: row.id, key: row.key, isNew: row.key === item.key };
  });
  await renew(tx, written);
  await addApps(tx, written);
  const rejected = await enqueueInvitationMails(tx, written, terms.now);
  // A renewed invitation was mailed before, but a new one needs its mail.
  const refused = rejected.find(({ isNew }) => isNew);
  if (refused) throw tooManyMails(refused);
  return written;
};

const byClientAndEmail = (a: Asked, b: Asked): number => a.client - b.client || (a.email < b.email ? -1 : 1);

/** A client has at most one pending invitation of an address. */
const slotKey = ({ client, email }: Pick<Stored, 'client' | 'email'>): string => `${client} ${email}`;

/** Expired invitations stay in the history and are replaced. */
const store = async (tx: Db, actor: Actor, asked: Asked[], terms: Terms) => {
  const stored = await upsert(tx, actor, asked, terms);
  const expired = asked.filter((item) => !stored.has(slotKey(item)));
  if (expired.length === 0) return stored;
  await sql`
    update invitations i set status = 'expired' from ${asRows(expired)}
    where i.client_id = asked.client and i.email = asked.email
      and i.status = 'pending' and i.expires_at <= ${terms.now}`.execute(tables(tx));
  return new Map([...stored, ...(await upsert(tx, actor, expired, terms))]);
};

/** Inserts new invitations and extends pending ones. Locks expired ones, but does not return them. */
const upsert = async (tx: Db, actor: Actor, asked: Asked[], { now, expiresAt }: Terms) => {
  const { rows } = await sql<Stored>`
    insert into invitations (client_id, email, key, extra, is_demo_user, inviter_id, date_invited, expires_at)
    select client, email, key, coalesce(extra::json, '{}'), coalesce(is_demo_user, false),
      ${actor.id}::int, ${now}::timestamptz, ${expiresAt}::timestamptz
    from ${asRows(asked)}
    on conflict (client_id, email) where status = 'pending'
      do update set expires_at = excluded.expires_at where invitations.expires_at > excluded.date_invited
    returning id, key, client_id as client, email`.execute(tables(tx));
  return new Map(rows.map((row) => [slotKey(row), row]));
};

/** Updates what was given for pending invitations. Omitted fields keep their values, and the first inviter remains. */
const renew = async (tx: Db, written: readonly WrittenInvitation[]): Promise<void> => {
  const renewed = written.filter(({ isNew }) => !isNew);
  if (renewed.length === 0) return;
  await sql`
    update invitations i
    set extra = coalesce(asked.extra::json, i.extra), is_demo_user = coalesce(asked.is_demo_user, i.is_demo_user)
    from ${asRows(renewed)} where i.id = asked.id`.execute(tables(tx));
};

/** Adds apps. A renewed invitation keeps the apps that it had. */
const addApps = async (tx: Db, written: readonly WrittenInvitation[]): Promise<void> => {
  const withApps = written.filter(({ initial_apps }) => initial_apps.length > 0);
  if (withApps.length === 0) return;
  const rows = withApps.map(({ id, initial_apps }) => ({ id, initial_apps }));
  // Even without a conflict, the clause costs a seventh of the statement.
  const ifRenewed = withApps.every(({ isNew }) => isNew) ? sql`` : sql`on conflict do nothing`;
  await sql`
    insert into invitation_apps (invitation_id, app_id)
    select id, unnest(initial_apps) from json_to_recordset(${JSON.stringify(rows)}::json)
      as asked (id int, initial_apps varchar[])
    ${ifRenewed}`.execute(tables(tx));
};

/** `extra` as text: parsed with its row, PostgreSQL would reject the escapes of lone surrogates in it. */
const asRows = (items: readonly (Asked & { id?: number })[]) => {
  const rows = items.map(({ id, client, email, key, extra, is_demo_user }) => ({
    id,
    client,
    email,
    key,
    extra: extra && JSON.stringify(extra),
    is_demo_user,
  }));
  return sql`json_to_recordset(${JSON.stringify(rows)}::json) as asked
    (id int, client int, email varchar, key varchar, extra text, is_demo_user boolean)`;
};
