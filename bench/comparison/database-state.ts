import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';

/** Tables that requests only add rows to: new rows have a higher id. */
const APPEND_ONLY = ['audit_entries', 'outbox_mails', 'invitations'] as const;
type MaxIds = Record<(typeof APPEND_ONLY)[number], string>;

/** Queries for the rows that requests inserted or changed, without ids, times and secrets. */
const changeQueries = (maxIds: MaxIds): Record<string, string> => ({
  audit: `select action, actor_label, target_label, client_ids, details::jsonb - 'id' as details, address is not null as has_address,
    request_id ~ '^[0-9a-f-]{36}$' as has_request from audit_entries where id > ${maxIds.audit_entries}`,
  mails: `select kind, recipient, client_id, invitation_id is not null as has_invitation, user_id, sent_at, attempts
    from outbox_mails where id > ${maxIds.outbox_mails}`,
  invitations: `select client_id, email, inviter_id, extra::jsonb, is_demo_user, status, email_count, length(key) as length,
    expires_at - date_invited as lasts, array(select app_id from invitation_apps a where a.invitation_id = i.id order by 1) as apps
    from invitations i where id > ${maxIds.invitations}`,
  users: `select u.email, u.first_name from users u join kept_users kept using (id) where u.first_name <> kept.first_name`,
  grants: `select g.user_id, g.app_id from app_grants g join kept_users on id = user_id
    except select user_id, app_id from kept_grants`,
  revoked: `select user_id, app_id from kept_grants except select user_id, app_id from app_grants`,
  memberships: 'select count(*) from memberships',
});

const UPDATED_TABLES = 'users, app_grants, memberships, invitation_apps';

/** In the order in which requests lock rows, the audit trail last: in another order, two could wait for each other. */
const restoreStatements = (maxIds: MaxIds): string => `
  begin;
  delete from outbox_mails where id > ${maxIds.outbox_mails};
  delete from invitations where id > ${maxIds.invitations};
  update users set first_name = kept.first_name from kept_users kept
  where users.id = kept.id and users.first_name <> kept.first_name;
  delete from app_grants g using kept_users kept where g.user_id = kept.id
    and not exists (select from kept_grants k where k.user_id = g.user_id and k.app_id = g.app_id);
  insert into app_grants (user_id, app_id) select user_id, app_id from kept_grants on conflict do nothing;
  alter table audit_entries disable trigger user;
  delete from audit_entries where id > ${maxIds.audit_entries};
  alter table audit_entries enable trigger user;
  commit`;

const POLL_MS = 50;
const QUIET_MS = 500;

/** The last requests of a load may still be running. */
const waitForTransactions = async (database: Client): Promise<void> => {
  for (let quietMs = 0; quietMs < QUIET_MS; quietMs += POLL_MS) {
    const { rows } = await database.query(`select from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`);
    if (rows.length > 0) quietMs = 0;
    await sleep(POLL_MS);
  }
};

export type DatabaseState = Awaited<ReturnType<typeof keepDatabaseState>>;

/** Saves the rows that requests may change, those of the given users, so that each turn starts from the same state. */
export const keepDatabaseState = async (database: Client, emails: readonly string[]) => {
  await database.query(
    `create temporary table kept_users as select id, first_name from users where email = any($1::varchar[])`,
    [emails],
  );
  await database.query(`create temporary table kept_grants as
    select user_id, app_id from app_grants join kept_users on id = user_id`);
  const columns = APPEND_ONLY.map((table) => `(select coalesce(max(id), 0) from ${table})::text as ${table}`);
  const { rows } = await database.query<MaxIds>(`select ${columns.join(', ')}`);
  const [maxIds] = rows;
  if (!maxIds) throw new Error('A query without a table returns one row.');

  return {
    /** The rows inserted or changed since then, grouped by subject. */
    changes: async (): Promise<Record<string, unknown>> => {
      const changes: Record<string, unknown> = {};
      for (const [name, query] of Object.entries(changeQueries(maxIds))) {
        const { rows: found } = await database.query<{ rows: unknown }>(
          `select json_agg(change order by change::text) as rows from (select to_jsonb(q) as change from (${query}) q) changes`,
        );
        changes[name] = found[0]?.rows;
      }
      return changes;
    },

    restore: async (): Promise<void> => {
      await waitForTransactions(database);
      await database.query(restoreStatements(maxIds));
    },

    /** Removes dead rows and flushes dirty pages, so that one turn does not slow down the next. */
    vacuum: async (): Promise<void> => {
      await database.query(`vacuum ${UPDATED_TABLES}, ${APPEND_ONLY.join(', ')}`);
      await database.query('checkpoint');
    },
  };
};
