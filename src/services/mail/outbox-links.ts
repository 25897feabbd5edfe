import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { linkLifetime } from './mail-context.ts';

type Terms = { now: Date; invitationDays: number };

/** Mails per transaction. */
const BATCH = 100;

/**
 * Password mails whose user was not looked up yet, or that have no link yet. The condition on `kind` must match the index
 * `outbox_mails_due`.
 */
export const needsLink = sql<boolean>`(sent_at is null and failed_at is null and (kind = 'invitation') is false
  and password_link_id is null and (kind = 'password-setup' or user_id is null))`;

export const anyNeedsLink = async (em: Db): Promise<boolean> =>
  (await tables(em).selectFrom('outbox_mails').select('id').where(needsLink).limit(1).execute()).length > 0;

/** Locks up to a batch of these mails, skipping those that another worker has locked. Returns their ids. */
export const lockWithoutLink = async (tx: Db): Promise<number[]> => {
  const rows = await tables(tx)
    .selectFrom('outbox_mails')
    .select('id')
    .where(needsLink)
    .orderBy('id')
    .limit(BATCH)
    .forUpdate()
    .skipLocked()
    .execute();
  return rows.map(({ id }) => id);
};

/**
 * Looks up the users of these locked mails and creates their links. Deletes reset mails to addresses without an active
 * user.
 */
export const createLinks = async (tx: Db, ids: readonly number[], terms: Terms): Promise<void> => {
  if (ids.length === 0) return;
  const db = tables(tx);
  const these = sql`any(${[...ids]}::bigint[])`;
  // Locks users before their links, in the same order as revoking access does: no link may outlive the access. Mails with a
  // link are never locked here, so deleting a link cannot deadlock.
  await sql`
    select from users where id in (
      select user_id from outbox_mails where id = ${these}
      union
      select person.id from outbox_mails mail join users person on person.email = mail.recipient
      where mail.id = ${these} and mail.kind = 'password-reset')
    order by id for share`.execute(db);
  await sql`
    update outbox_mails set user_id = person.id from users person
    where outbox_mails.id = ${these} and kind = 'password-reset' and user_id is null
      and person.email = recipient and person.is_active`.execute(db);
  await sql`
    delete from outbox_mails where id = ${these} and kind = 'password-reset' and user_id is null`.execute(db);

  // No link if the password was set after the request, or if a new user already has one.
  await sql`
    with wanted as (
      select mail.id, mail.user_id, mail.created_at + ${linkLifetime(terms.invitationDays)} as expires_at,
        nextval(pg_get_serial_sequence('password_links', 'id')) as link_id
      from outbox_mails mail join users person on person.id = mail.user_id
      where mail.id = ${these} and mail.password_link_id is null and person.is_active
        and mail.created_at + ${linkLifetime(terms.invitationDays)} > ${terms.now}::timestamptz
        and case when mail.kind = 'password-setup' then person.password_hash is null
          else person.last_password_set <= mail.created_at end),
    made as (
      insert into password_links (id, user_id, created_at, expires_at)
      select link_id, user_id, ${terms.now}::timestamptz, expires_at from wanted)
    update outbox_mails set password_link_id = wanted.link_id from wanted
    where outbox_mails.id = wanted.id`.execute(db);
};
