import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { tokenDigest } from '../../src/services/auth/credentials.ts';

const USERS = 2_000;
const VISITORS = 1_000;
const USERS_OF_APP = 1_500;
const ENTRIES_OF_APP = 3_000;

export type Member = { email: string; clientId: number; appIds: string[] };

/** Inputs for requests, taken from a database that `bench:data` filled. The same data gives the same samples. */
export type Samples = {
  /** Users without a role, shuffled. */
  members: Member[];
  /** Users with a token and the slug of an app that they can open. */
  visitors: { slug: string; token: string }[];
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
  return { members: members.rows, visitors: await addVisitors(database), popularApp, activeApp };
};

/** Gives users a token each, the same in every run. */
const addVisitors = async (database: Client): Promise<Samples['visitors']> => {
  const { rows } = await database.query<{ id: number; slug: string }>(
    `select u.id, min(a.slug) as slug from users u join app_grants g on g.user_id = u.id join apps a on a.id = g.app_id
    where u.is_active group by u.id order by md5(u.email) limit $1`,
    [VISITORS],
  );
  const visitors = rows.map((row) => ({
    ...row,
    token: createHash('sha1').update(`visitor ${row.id}`).digest('hex'),
  }));
  const digests = visitors.map(({ token }) => tokenDigest(token));
  await database.query('delete from api_tokens where digest = any($1::varchar[])', [digests]);
  await database.query(
    `insert into api_tokens (user_id, digest, created_at, last_used)
    select *, now(), now() from unnest($1::int[], $2::varchar[])`,
    [visitors.map(({ id }) => id), digests],
  );
  return visitors;
};
