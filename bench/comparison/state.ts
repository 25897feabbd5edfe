import type { Client } from 'pg';

/** Tables that only grow while requests are answered: what is new has a higher id. */
const GROWING = ['audit_entries', 'outbox_mails', 'invitations', 'api_tokens'] as const;
type Marks = Record<(typeof GROWING)[number], string>;

/** What is to be found after a request, but for ids, times and secrets. */
const WRITTEN = (marks: Marks): Record<string, string> => ({
  audit: `select action, actor_email, target, client_ids, details::jsonb - 'id' as details, address is not null as has_address,
    request_id ~ '^[0-9a-f-]{36}$' as has_request from audit_entries where id > ${marks.audit_entries}`,
  mails: `select kind, recipient, client_id, invitation_id is not null as has_invitation, user_id, sent_at, attempts
    from outbox_mails where id > ${marks.outbox_mails}`,
  invitations: `select client_id, email, inviter_id, extra::jsonb, is_demo_user, status, email_count, length(key) as length,
    expires_at - date_invited as lasts, array(select app_id from invitation_apps a where a.invitation_id = i.id order by 1) as apps
    from invitations i where id > ${marks.invitations}`,
  tokens: `select user_id, name, last_address is not null as has_address from api_tokens where id > ${marks.api_tokens}`,
  users: `select u.email, u.first_name, u.last_login is distinct from kept.last_login as has_logged_in
    from users u join kept_users kept using (id) where u.first_name <> kept.first_name or u.last_login is distinct from kept.last_login`,
  grants: `select g.user_id, g.app_id from app_grants g join kept_users on id = user_id
    except select user_id, app_id from kept_grants`,
  revoked: `select user_id, app_id from kept_grants except select user_id, app_id from app_grants`,
  memberships: 'select count(*) from memberships',
});

const restoring = (marks: Marks): string => `
  begin;
  alter table audit_entries disable trigger user;
  delete from audit_entries where id > ${marks.audit_entries};
  alter table audit_entries enable trigger user;
  delete from outbox_mails where id > ${marks.outbox_mails};
  delete from invitations where id > ${marks.invitations};
  delete from api_tokens where id > ${marks.api_tokens};
  update users set first_name = kept.first_name, last_login = kept.last_login from kept_users kept
  where users.id = kept.id and (users.first_name <> kept.first_name or users.last_login is distinct from kept.last_login);
  delete from app_grants g using kept_users kept where g.user_id = kept.id
    and not exists (select from kept_grants k where k.user_id = g.user_id and k.app_id = g.app_id);
  insert into app_grants (user_id, app_id) select user_id, app_id from kept_grants on conflict do nothing;
  commit`;

const TOUCHED = 'users, app_grants, memberships, invitation_apps';

export type State = Awaited<ReturnType<typeof keepState>>;

/** Remembers how things stand, as far as requests of the benchmark change them: those users, and what is added. */
export const keepState = async (database: Client, emails: readonly string[]) => {
  await database.query(
    `create temporary table kept_users as select id, first_name, last_login from users where email = any($1::varchar[])`,
    [emails],
  );
  await database.query(`create temporary table kept_grants as
    select user_id, app_id from app_grants join kept_users on id = user_id`);
  const marks: Record<string, string> = {};
  for (const table of GROWING) {
    const { rows } = await database.query<{ id: string }>(`select coalesce(max(id), 0) as id from ${table}`);
    marks[table] = String(rows[0]?.id);
  }
  const known = marks as Marks; // each was set in the loop

  return {
    /** The rows that are new or changed, by what they are. */
    written: async (): Promise<Record<string, unknown>> => {
      const found: Record<string, unknown> = {};
      for (const [name, query] of Object.entries(WRITTEN(known))) {
        const { rows } = await database.query<{ rows: unknown }>(
          `select json_agg(written order by written::text) as rows from (select to_jsonb(q) as written from (${query}) q) all_of_it`,
        );
        found[name] = rows[0]?.rows;
      }
      return found;
    },

    /** Takes everything back. */
    restore: async (): Promise<void> => {
      await database.query(restoring(known));
    },

    /** Leaves nothing of what others did for whoever is measured next: neither dead rows nor pages to be written. */
    settle: async (): Promise<void> => {
      await database.query(`vacuum ${TOUCHED}, ${GROWING.join(', ')}`);
      await database.query('checkpoint');
    },
  };
};
