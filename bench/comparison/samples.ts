import type { Client } from 'pg';
import { ROOT } from '../data/people.ts';

const USERS = 2_000;
const LOGINS = 200;
const USERS_OF_APP = 1_500;
const ENTRIES_OF_APP = 3_000;

export type Member = { email: string; clientId: number; appIds: string[] };

/** Inputs for requests, taken from a database that `bench:data` filled. The same data gives the same samples. */
export type Samples = {
  /** Users without a role, shuffled. */
  members: Member[];
  /** Emails of users who have the bench password. */
  logins: string[];
  /** The same for Django, which has its own password hashes. */
  djangoLogins: string[];
  /** Slug of the app that has about 1,500 users. */
  popularApp: string;
  /** Id of the app that has about 3,000 entries in the last 30 days. */
  activeApp: string;
};

export const takeSamples = async (database: Client): Promise<Samples> => {
  const members = await database.query<Member>(
    `select u.email, m.client_id as "clientId",
      array(select a.id from apps a where a.client_id = m.client_id order by a.id) as "appIds"
    from users u join lateral (select min(client_id) as client_id, bool_or(is_admin) as is_admin
      from memberships where user_id = u.id) m on true
    where u.is_active and not u.is_staff and not u.is_superuser and not m.is_admin
    order by md5(u.email) limit $1`,
    [USERS],
  );
  const popular = await database.query<{ slug: string }>(
    `select a.slug from apps a join app_grants g on g.app_id = a.id
    group by a.slug order by abs(count(*) - $1), a.slug limit 1`,
    [USERS_OF_APP],
  );
  const active = await database.query<{ app_id: string }>(
    `select app_id from usage_entries where occurred_at > now() - interval '30 days'
    group by app_id order by abs(count(*) - $1), app_id limit 1`,
    [ENTRIES_OF_APP],
  );
  const [popularApp, activeApp] = [popular.rows[0]?.slug, active.rows[0]?.app_id];
  if (members.rows.length === 0 || !popularApp || !activeApp) {
    throw new Error('The database has no users, apps or recent entries. Fill it with `npm run bench:data`.');
  }
  const logins = members.rows.slice(0, LOGINS).map(({ email }) => email);
  await database.query(
    `update users set password_hash = (select password_hash from users where email = $1)
    where email = any($2::varchar[]) and password_hash is null`,
    [ROOT, logins],
  );
  const djangoLogins = members.rows.slice(LOGINS, 2 * LOGINS).map(({ email }) => email);
  return { members: members.rows, logins, djangoLogins, popularApp, activeApp };
};
