import type { FastifyInstance } from 'fastify';
import type { Pool, PoolClient } from 'pg';
import { eachRow, oneRow } from './raw-rows.ts';
import {
  digestOf,
  flag,
  IS_STALE,
  instant,
  JSON_TYPE,
  Output,
  quoted,
  refuse,
  sendLatin1,
  streamRows,
  TOKEN,
  touch,
} from './responses.ts';

export const COLUMNS = `u.email, u.handle, u.first_name, u.last_name, u.extra, u.is_active, u.is_demo_user, u.profile_color,
  u.profile_avatar, u.last_login, u.date_joined, u.last_activated, u.last_deactivated`;
const [EMAIL, HANDLE, FIRST_NAME, LAST_NAME, EXTRA, ACTIVE, DEMO, COLOR, AVATAR, LOGIN, JOINED, ON, OFF] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
] as const;
type T = string;
type Maybe = string | null;
export type UserFields = [T, T, T, T, T, T, T, T, Maybe, Maybe, T, Maybe, Maybe];

/** The elements of two JSON arrays of one user. */
export const APPS = `(select string_agg('"' || a.id || '"', ',' order by a.created_at, a.id)
  from app_grants g join apps a on a.id = g.app_id where g.user_id = u.id)`;
export const ADMINISTERED_CLIENTS = `(select string_agg(m.client_id::text, ',' order by m.client_id)
  from memberships m where m.user_id = u.id and m.is_admin)`;

export const userJson = (
  f: readonly [...UserFields, ...Maybe[]],
  apps: string,
  administered: string,
  baseUrl: string,
): string => {
  const avatar = f[AVATAR] ?? `${baseUrl}/avatars/${/[a-z0-9]/.exec(f[EMAIL])?.[0] ?? 'x'}.svg`;
  return `{"email":${quoted(f[EMAIL])},"handle":${quoted(f[HANDLE])},"first_name":${quoted(f[FIRST_NAME])},"last_name":${quoted(f[LAST_NAME])},"extra":${f[EXTRA]},"is_active":${flag(f[ACTIVE])},"is_demo_user":${flag(f[DEMO])},"profile_color":"${f[COLOR]}","profile_avatar":${quoted(avatar)},"apps":[${apps}],"clientadmin_of":[${administered}],"last_login":${instant(f[LOGIN])},"date_joined":${instant(f[JOINED])},"last_activated":${instant(f[ON])},"last_deactivated":${instant(f[OFF])}}`;
};

const ONE = {
  name: 'one',
  text: `select ${COLUMNS}, ${APPS}, ${ADMINISTERED_CLIENTS}, ${IS_STALE} from ${TOKEN} left join users u on u.email = $2`,
};
type OneFields = [...UserFields, apps: Maybe, administered: Maybe, isStale: T];

/** Authenticates, looks up the app, and returns all apps ordered by age, in one round trip before a list. */
const BEFORE = {
  name: 'before',
  text: `select ${IS_STALE}, (select id from apps where slug = $2),
    (select string_agg(id, ',' order by created_at, id) from apps) from ${TOKEN}`,
};
type BeforeFields = [isStale: T, appId: Maybe, apps: Maybe];

const OF_APP = {
  name: 'of-app',
  text: `select ${COLUMNS}, array(select app_id from app_grants g where g.user_id = u.id), ${ADMINISTERED_CLIENTS}
    from app_grants x join users u on u.id = x.user_id where x.app_id = $1 order by u.id`,
};
/** Both subqueries return rows in user order, so that the first row is sent immediately. */
const ALL = {
  name: 'all',
  text: `select ${COLUMNS}, g.apps, m.administered from users u
    left join (select user_id, array_agg(app_id) as apps from app_grants group by 1) g on g.user_id = u.id
    left join (select user_id, string_agg(client_id::text, ',' order by client_id) as administered
      from memberships where is_admin group by 1) m on m.user_id = u.id
    order by u.id`,
};
type ListFields = [...UserFields, apps: Maybe, administered: Maybe];

/** Converts `{a,b}` to `"b","a"`, sorted by age. */
const inOrder = (array: string | null, positions: Map<string, number>): string => {
  if (array === null || array.length === 2) return '';
  const ids = array.slice(1, -1).split(',');
  if (ids.length > 1) ids.sort((a, b) => (positions.get(a) ?? 0) - (positions.get(b) ?? 0));
  return `"${ids.join('","')}"`;
};

export const serveUsers = (app: FastifyInstance, pool: Pool, baseUrl: string): void => {
  app.get<{ Params: { email: string } }>('/api/v1/jb/users/:email/', async (request, reply) => {
    const digest = digestOf(request);
    const f = await oneRow<OneFields>(pool, ONE, [digest, request.params.email]);
    if (!f) return refuse(reply, 401);
    if (f[EMAIL] === null) return refuse(reply, 404);
    await touch(pool, f[15], digest, request.ip);
    return sendLatin1(reply, userJson(f, f[13] ?? '', f[14] ?? '', baseUrl));
  });

  app.get<{ Querystring: { app?: string } }>('/api/v1/jb/users/', async (request, reply) => {
    const digest = digestOf(request);
    const slug = request.query.app;
    const client = await pool.connect();
    try {
      const before = await prepare(client, digest, slug);
      if (!before) return refuse(reply, 401);
      await touch(client, before.isStale, digest, request.ip);
      if (slug === undefined) {
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': JSON_TYPE });
        return await streamRows<ListFields>(client, ALL, reply.raw, (f) =>
          userJson(f, inOrder(f[13], before.positions), f[14] ?? '', baseUrl),
        );
      }
      if (before.appId === null) return refuse(reply, 404);
      const output = new Output();
      let separator = '[';
      await eachRow<ListFields>(client, OF_APP, [before.appId], (f) => {
        output.add(separator + userJson(f, inOrder(f[13], before.positions), f[14] ?? '', baseUrl));
        separator = ',';
      });
      output.add(separator === '[' ? '[]' : ']');
      reply.raw.once('close', () => output.release());
      return reply.type(JSON_TYPE).send(output.bytes());
    } finally {
      client.release();
    }
  });
};

const prepare = async (client: PoolClient, digest: string, slug: string | undefined) => {
  let f: BeforeFields | undefined;
  await eachRow<BeforeFields>(client, BEFORE, [digest, slug ?? ''], (fields) => {
    f = fields;
  });
  if (!f) return undefined;
  const positions = new Map((f[2] ?? '').split(',').map((id, position) => [id, position]));
  return { isStale: f[0], appId: f[1], positions };
};
