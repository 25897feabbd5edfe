import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  APPS_OF_USER,
  CLIENTS_OF_ADMIN,
  digestOf,
  flag,
  instant,
  type Query,
  quoted,
  refuse,
  type Statement,
  sendJson,
  type Text,
  TOKEN,
  USER_COLUMNS,
  type UserColumns,
  userJson,
} from './query.ts';

const ONE: Statement = {
  name: 'one',
  text: `select ${USER_COLUMNS}, ${APPS_OF_USER}, ${CLIENTS_OF_ADMIN} from ${TOKEN} left join users u on u.email = $2`,
};
const OF_APP: Statement = {
  name: 'of-app',
  text: `select ${USER_COLUMNS}, ${APPS_OF_USER}, ${CLIENTS_OF_ADMIN}
    from ${TOKEN}, apps x join app_grants xg on xg.app_id = x.id join users u on u.id = xg.user_id
    where x.slug = $2 order by u.id`,
};
const ALL: Statement = {
  name: 'all',
  text: `select ${USER_COLUMNS}, g.apps, m.administered from ${TOKEN}, users u
    left join (select user_id, string_agg('"' || a.id || '"', ',' order by a.created_at, a.id) as apps
      from app_grants join apps a on a.id = app_id group by 1) g on g.user_id = u.id
    left join (select user_id, string_agg(client_id::text, ',' order by client_id) as administered
      from memberships where is_admin group by 1) m on m.user_id = u.id
    order by u.id`,
};
type UserRow = [...UserColumns, apps: Text, administered: Text];

const ENTRIES: Statement = {
  name: 'usage',
  text: `select action_description, email, full_name, occurred_at, action, extra from usage_entries
    where app_id = $2 and occurred_at >= now() - make_interval(days => $3::int)
      and exists (select from ${TOKEN}) order by occurred_at desc, id desc`,
};
type T = string;
type EntryRow = [description: T, email: T, fullName: T, at: T, action: T, extra: T];

const entryJson = ([description, email, fullName, at, action, extra]: EntryRow): string =>
  `{"action_description":${quoted(description)},"email":${quoted(email)},"full_name":${quoted(fullName)},"timestamp":${instant(at)},"action":"${action}","extra":${extra}}`;

const APPS: Statement = {
  name: 'apps',
  text: `select a.id, a.slug, a.label, a.description, a.help_html, a.footer_html, a.show_help, a.show_footer,
      coalesce(w.actions30, 0), coalesce(w.users30, 0), coalesce(w.actions60, 0), coalesce(w.users60, 0),
      coalesce(w.actions90, 0), coalesce(w.users90, 0), a.package_info, a.in_maintenance, a.maintenance_message
    from ${TOKEN} cross join apps a left join bench_peers.counted_windows w on w.app_id = a.id
    order by a.created_at, a.id`,
};
type AppRow = [T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T];

const appJson = (f: AppRow): string =>
  `{"id":"${f[0]}","slug":"${f[1]}","label":${quoted(f[2])},"description":${quoted(f[3])},"help_html":${quoted(f[4])},"footer_html":${quoted(f[5])},"show_help":${flag(f[6])},"show_footer":${flag(f[7])},"usage":{"30":{"actions":${f[8]},"users":${f[9]}},"60":{"actions":${f[10]},"users":${f[11]}},"90":{"actions":${f[12]},"users":${f[13]}}},"package_info":${f[14]},"in_maintenance":${flag(f[15])},"maintenance_message":${quoted(f[16])}}`;

export const serveReads = (app: FastifyInstance, query: Query, baseUrl: string): void => {
  const toUser = (row: UserRow): string => userJson(row, row[13], row[14], baseUrl);

  /** Responds with an array. An empty list may also mean that the token is invalid. */
  const sendList = async <Row extends readonly Text[]>(
    request: FastifyRequest,
    reply: FastifyReply,
    { statement, values, toJson }: { statement: Statement; values: unknown[]; toJson: (row: Row) => string },
  ) => {
    const rows = await query<Row>(statement, [digestOf(request), ...values]);
    return rows.length === 0 ? refuse(reply, 401) : sendJson(reply, `[${rows.map(toJson).join(',')}]`);
  };

  app.get<{ Params: { email: string } }>('/api/v1/jb/users/:email/', async (request, reply) => {
    const [row] = await query<UserRow>(ONE, [digestOf(request), request.params.email]);
    if (!row) return refuse(reply, 401);
    return row[0] === null ? refuse(reply, 404) : sendJson(reply, toUser(row));
  });

  app.get<{ Querystring: { app?: string } }>('/api/v1/jb/users/', (request, reply) => {
    const { app: slug } = request.query;
    return slug === undefined
      ? sendList<UserRow>(request, reply, { statement: ALL, values: [], toJson: toUser })
      : sendList<UserRow>(request, reply, { statement: OF_APP, values: [slug], toJson: toUser });
  });

  app.get<{ Params: { id: string }; Querystring: { window?: string } }>(
    '/api/v1/jb/apps/:id/usage/',
    (request, reply) => {
      const days = Number(request.query.window ?? 30);
      if (!Number.isInteger(days) || days < 1 || days > 3650) return refuse(reply, 400);
      const values = [request.params.id, days];
      return sendList<EntryRow>(request, reply, { statement: ENTRIES, values, toJson: entryJson });
    },
  );

  app.get('/api/v1/jb/apps/', (request, reply) =>
    sendList<AppRow>(request, reply, { statement: APPS, values: [], toJson: appJson }),
  );
};
