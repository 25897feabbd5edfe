import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { NEW_MAIL, newMailValues, spreadBy } from '../outbox/enqueue-mails.ts';

/** A token that ends. The time is ISO 8601. */
export type TokenFacts = {
  name: string;
  /** The name of the service account; null: a token of the recipient. */
  account: string | null;
  ends_at: string;
};

/** How many days before the end of a token its mails are sent. */
const STEPS = [14, 1];

/** Tokens per statement. */
const BATCH = 1_000;

/** SQL: whether a user is an admin of a client; of the installation (null), a superuser. */
const isAdminOf = (user: string, client: RawBuilder<unknown>) => condition`case when ${client} is null
  then ${sql.ref(`${user}.is_superuser`)} else exists (select from memberships m where m.user_id = ${sql.ref(`${user}.id`)}
    and m.client_id = ${client} and m.is_admin and m.is_active_member) end`;

/** SQL: whether a user manages the service accounts of a client. */
const isManagerOf = (user: string, client: RawBuilder<unknown>) =>
  condition`(${sql.ref(`${user}.is_superuser`)} or ${isAdminOf(user, client)})`;

/** SQL: the named tokens of which a mail is due, with its step. A token gets no mail for steps that are longer than its life. */
const dueTokens = (now: Date) => sql`
  select t.id, t.user_id, t.created_by, s.user_id is not null as is_service, s.client_id, step.days
  from api_tokens t join users owner on owner.id = t.user_id left join service_accounts s on s.user_id = t.user_id
    cross join lateral (select min(days) as days from unnest(${STEPS}::smallint[]) days
      where t.expires_at <= ${now}::timestamptz + days * interval '24 hours'
        and t.expires_at >= t.created_at + days * interval '24 hours') step
  where t.name <> '' and t.expires_at > ${now}::timestamptz and coalesce(s.is_active, owner.is_active)
    and step.days < coalesce(t.reminded_days, ${Math.max(...STEPS) + 1}::smallint)`;

/**
 * Mails people about tokens that end soon: their own, and those that they made for a service account. If the maker does not manage the
 * account any more, mails the admins. Each token is stamped in the statement that enqueues its mails, so that a crash or another instance
 * neither loses nor repeats one.
 */
export const enqueueTokenReminders = async (em: Em, now: Date, signal?: AbortSignal): Promise<void> => {
  for (let count = BATCH; count >= BATCH; ) {
    signal?.throwIfAborted();
    const { rows } = await sql<{ count: number }>`
      with due as materialized (${dueTokens(now)} order by t.id limit ${BATCH}),
      locked as materialized (
        select due.*, exists (select from users maker where maker.id = due.created_by and maker.is_active
            and ${isManagerOf('maker', sql`due.client_id`)}) as has_maker
        from due join api_tokens t on t.id = due.id
        where t.reminded_days is null or t.reminded_days > due.days
        order by t.id for no key update of t skip locked),
      stamped as (
        update api_tokens t set reminded_days = locked.days from locked where t.id = locked.id),
      enqueued as (
        insert into outbox_mails (kind, recipient, client_id, user_id, token_id, ${NEW_MAIL})
        select 'token-ending', u.email, locked.client_id, u.id, locked.id, ${newMailValues(now, spreadBy('u.id'))}
        from locked join users u on u.is_active and case
          when not is_service then u.id = locked.user_id
          when has_maker then u.id = locked.created_by
          else ${isAdminOf('u', sql`locked.client_id`)} end
        order by u.id, locked.id)
      select count(*)::int as count from locked`.execute(kysely(em));
    count = rows[0]?.count ?? 0;
  }
};

/** SQL over the aliases of `mailRows`: the token of a mail, if it still ends and its recipient may still replace it. */
export const tokenEnding = (now: Date) => sql`(
  select json_build_object('token', json_build_object('name', t.name, 'account', s.name, 'ends_at', t.expires_at))
  from api_tokens t left join service_accounts s on s.user_id = t.user_id
  where t.id = mail.token_id and t.name <> '' and t.expires_at > ${now}::timestamptz and coalesce(s.is_active, true)
    and case when s.user_id is null then t.user_id = person.id else ${isManagerOf('person', sql`s.client_id`)} end)`;
