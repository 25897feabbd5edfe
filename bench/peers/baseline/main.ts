import { createHash } from 'node:crypto';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import pg from 'pg';
import { runPeer } from '../../processes.ts';

const POOL_SIZE = 8;
/** The data fits in memory and there are two cores: JIT compilation and parallel workers do not pay off. */
const SESSION = '-c jit=off -c random_page_cost=1.1 -c max_parallel_workers_per_gather=0 -c TimeZone=UTC';
const AS_TEXT = { getTypeParser: () => (text: unknown) => text };

/** The texts that PostgreSQL sends. */
type Row = (string | null)[];
type Text = Row[number] | undefined;
/** `toJson`: of a row. */
type Statement = { name: string; text: string; toJson: (row: Row, baseUrl: string) => string };

const TO_ESCAPE = /["\\]|[^ -\uffff]/;

/** A JSON string; most need no escaping. */
const quoted = (text: Text): string => (TO_ESCAPE.test(text ?? '') ? JSON.stringify(text) : `"${text}"`);

/** Converts PostgreSQL's `2026-11-21 10:20:30.5+00` to `"2026-11-21T10:20:30.500Z"`. */
const instant = (text: Text): string => {
  if (text == null) return 'null';
  const fraction = text.length === 22 ? '.000' : text.slice(19, -3).padEnd(4, '0');
  return `"${text.slice(0, 10)}T${text.slice(11, 19)}${fraction}Z"`;
};

const flag = (text: Text): string => (text === 't' ? 'true' : 'false');

/** The FROM clause of every statement: the token `$1` of an active user who can view all clients. */
const TOKEN = `api_tokens t join users au on au.id = t.user_id and au.is_active
  and (au.is_superuser or au.is_staff) and t.digest = $1 and t.last_used > now() - interval '90 days'`;

const USER = `u.email, u.handle, u.first_name, u.last_name, u.extra, u.is_active, u.is_demo_user, u.profile_color,
  u.profile_avatar, u.last_login, u.date_joined, u.last_activated, u.last_deactivated`;
/** With the elements of two JSON arrays. */
const USER_WITH_ACCESS = `${USER}, (select string_agg('"' || a.id || '"', ',' order by a.created_at, a.id)
    from app_grants g join apps a on a.id = g.app_id where g.user_id = u.id),
  (select string_agg(m.client_id::text, ',' order by m.client_id)
    from memberships m where m.user_id = u.id and m.is_admin)`;

const userJson = (u: Row, baseUrl: string): string => {
  const avatar = u[8] ?? `${baseUrl}/avatars/${/[a-z0-9]/.exec(u[0] ?? '')?.[0] ?? 'x'}.svg`;
  return `{"email":${quoted(u[0])},"handle":${quoted(u[1])},"first_name":${quoted(u[2])},"last_name":${quoted(u[3])},"extra":${u[4]},"is_active":${flag(u[5])},"is_demo_user":${flag(u[6])},"profile_color":"${u[7]}","profile_avatar":${quoted(avatar)},"apps":[${u[13] ?? ''}],"clientadmin_of":[${u[14] ?? ''}],"last_login":${instant(u[9])},"date_joined":${instant(u[10])},"last_activated":${instant(u[11])},"last_deactivated":${instant(u[12])}}`;
};

const ONE: Statement = {
  name: 'one',
  text: `select ${USER_WITH_ACCESS} from ${TOKEN} left join users u on u.email = $2`,
  toJson: userJson,
};
const OF_APP: Statement = {
  name: 'of-app',
  text: `select ${USER_WITH_ACCESS}
    from ${TOKEN}, apps x join app_grants xg on xg.app_id = x.id join users u on u.id = xg.user_id
    where x.slug = $2 order by u.id`,
  toJson: userJson,
};
const ALL: Statement = {
  name: 'all',
  text: `select ${USER}, g.apps, m.administered from ${TOKEN}, users u
    left join (select user_id, string_agg('"' || a.id || '"', ',' order by a.created_at, a.id) as apps
      from app_grants join apps a on a.id = app_id group by 1) g on g.user_id = u.id
    left join (select user_id, string_agg(client_id::text, ',' order by client_id) as administered
      from memberships where is_admin group by 1) m on m.user_id = u.id
    order by u.id`,
  toJson: userJson,
};
const ENTRIES: Statement = {
  name: 'usage',
  text: `select action_description, email, full_name, occurred_at, action, extra from usage_entries
    where app_id = $2 and occurred_at >= now() - make_interval(days => $3::int)
      and exists (select from ${TOKEN}) order by occurred_at desc, id desc`,
  toJson: ([description, email, fullName, at, action, extra]) =>
    `{"action_description":${quoted(description)},"email":${quoted(email)},"full_name":${quoted(fullName)},"timestamp":${instant(at)},"action":"${action}","extra":${extra}}`,
};
const APPS: Statement = {
  name: 'apps',
  text: `select a.id, a.slug, a.label, a.description, a.help_html, a.footer_html, a.show_help, a.show_footer,
      coalesce(w.actions30, 0), coalesce(w.users30, 0), coalesce(w.actions60, 0), coalesce(w.users60, 0),
      coalesce(w.actions90, 0), coalesce(w.users90, 0), a.package_info, a.in_maintenance, a.maintenance_message
    from ${TOKEN} cross join apps a left join bench_peers.counted_windows w on w.app_id = a.id
    order by a.created_at, a.id`,
  toJson: (f) =>
    `{"id":"${f[0]}","slug":"${f[1]}","label":${quoted(f[2])},"description":${quoted(f[3])},"help_html":${quoted(f[4])},"footer_html":${quoted(f[5])},"show_help":${flag(f[6])},"show_footer":${flag(f[7])},"usage":{"30":{"actions":${f[8]},"users":${f[9]}},"60":{"actions":${f[10]},"users":${f[11]}},"90":{"actions":${f[12]},"users":${f[13]}}},"package_info":${f[14]},"in_maintenance":${flag(f[15])},"maintenance_message":${quoted(f[16])}}`,
};

/** The digest of the request's token, or '' without one. */
const digestOf = (request: FastifyRequest): string => {
  const header = request.headers.authorization ?? '';
  return header.startsWith('Token ') ? createHash('sha256').update(header.slice(6)).digest('hex') : '';
};

const sendJson = (reply: FastifyReply, json: string, status = 200) =>
  reply.code(status).type('application/json; charset=utf-8').send(json);

/**
 * The cost of equal responses without an application: Fastify, `pg`, handwritten prepared statements, and JSON put together from
 * the texts of the columns. It checks tokens, and little else.
 */
runPeer(async ({ connection, baseUrl }) => {
  const pool = new pg.Pool({ ...connection, max: POOL_SIZE, options: SESSION });
  const app = fastify();

  const query = async ({ name, text }: Statement, request: FastifyRequest, values: unknown[]) =>
    (
      await pool.query<Row>({
        name,
        text,
        values: [digestOf(request), ...values],
        rowMode: 'array',
        types: AS_TEXT,
      })
    ).rows;

  /** Responds with an array. An empty list may also mean that the token is invalid. */
  const sendList = async (
    statement: Statement,
    request: FastifyRequest,
    reply: FastifyReply,
    values: unknown[] = [],
  ) => {
    const rows = await query(statement, request, values);
    if (rows.length === 0) return sendJson(reply, '{"status":401}', 401);
    return sendJson(reply, `[${rows.map((row) => statement.toJson(row, baseUrl)).join(',')}]`);
  };

  app.get<{ Params: { email: string } }>('/api/v1/jb/users/:email/', async (request, reply) => {
    const [row] = await query(ONE, request, [request.params.email]);
    if (!row) return sendJson(reply, '{"status":401}', 401);
    return row[0] === null
      ? sendJson(reply, '{"status":404}', 404)
      : sendJson(reply, ONE.toJson(row, baseUrl));
  });
  app.get<{ Querystring: { app?: string } }>('/api/v1/jb/users/', (request, reply) => {
    const { app: slug } = request.query;
    return slug === undefined ? sendList(ALL, request, reply) : sendList(OF_APP, request, reply, [slug]);
  });
  app.get<{ Params: { id: string }; Querystring: { window?: number } }>(
    '/api/v1/jb/apps/:id/usage/',
    (request, reply) => sendList(ENTRIES, request, reply, [request.params.id, request.query.window ?? 30]),
  );
  app.get('/api/v1/jb/apps/', (request, reply) => sendList(APPS, request, reply));
  return app.listen({ host: '127.0.0.1', port: 0 });
});
