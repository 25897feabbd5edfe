import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
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

/**
 * A CTE that inserts audit entries for a query of (action, target, client ids, details). The actor is `au`; the request id and
 * the address are parameters `first` and `first + 1`.
 */
const withAudit = (events: string, first: number): string => `,
  audited as (insert into audit_entries
      (occurred_at, request_id, address, actor_email, action, target, client_ids, details)
    select now(), $${first}::varchar, $${first + 1}::varchar, au.email, event.*
    from au, (${events}) as event (action, target, client_ids, details))`;

/** One for the user, one for each client whose apps changed. */
const PATCH_EVENTS = `
  select 'user.update', u.email, array(select client_id from memberships m where m.user_id = u.id),
    json_build_object('first_name', json_build_object('from', u.first_name, 'to', $3::text))
  from u, allowed where u.first_name <> $3
  union all
  select 'user.change-apps', u.email, array[client_id], json_build_object(
      'granted', coalesce(json_agg(app.id order by app.created_at, app.id) filter (where not was), '[]'),
      'revoked', coalesce(json_agg(app.id order by app.created_at, app.id) filter (where was), '[]'))
  from u, (
    select id, client_id, created_at, false as was from requested where id not in (select id from had)
    union all
    select id, client_id, created_at, true from had where id not in (select id from requested)
  ) as app, allowed group by u.email, client_id`;

/** One statement that authenticates, locks the user, validates, applies all changes and returns the user. */
const PATCH: Statement = {
  name: 'patch',
  text: `with au as (select au.email from ${TOKEN} and au.is_superuser),
    u as materialized (select u.* from users u, au where u.email = $2 for update of u),
    requested as materialized (select id, client_id, created_at from apps where id = any($4::varchar[])),
    had as materialized (
      select a.id, a.client_id, a.created_at from u join app_grants g on g.user_id = u.id join apps a on a.id = g.app_id),
    allowed as materialized (select from u where (select count(*) from requested) = cardinality($4::varchar[])
      and not exists (select from memberships m where m.user_id = u.id and m.is_admin)),
    changed as (update users set first_name = $3 from u, allowed where users.id = u.id),
    revoked as (delete from app_grants g using u, allowed where g.user_id = u.id and g.app_id <> all($4::varchar[])),
    granted as (insert into app_grants (user_id, app_id)
      select u.id, requested.id from u, requested, allowed where requested.id not in (select id from had) on conflict do nothing),
    joined as (insert into memberships (client_id, user_id)
      select distinct requested.client_id, u.id from u, requested, allowed on conflict do nothing)
    ${withAudit(PATCH_EVENTS, 5)}
    select ${USER_COLUMNS}, (select string_agg('"' || id || '"', ',' order by created_at, id) from requested) from u, allowed`,
};
type PatchRow = [...UserColumns, apps: Text];
type PatchBody = { first_name: string; apps: string[] };

const readPatch = (request: FastifyRequest): PatchBody | null => {
  const body = JSON.parse(String(request.body)) as Partial<Record<keyof PatchBody, unknown>> | null; // checked below
  const { first_name: firstName, apps } = body ?? {};
  if (typeof firstName !== 'string' || firstName.length > 150 || !Array.isArray(apps)) return null;
  return apps.every((id) => typeof id === 'string')
    ? { first_name: firstName, apps: [...new Set(apps)] }
    : null;
};

const EMAIL = /^[^\s@"<>A-Z]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/;
const KEY_BYTES = 24;

const BULK_EVENTS = `select 'invitation.create', ins.email, array[ins.client_id],
  json_build_object('id', ins.id, 'apps', requested.initial_apps)
  from ins join requested using (client_id, email)`;

/** One statement that gets the body as JSON, authenticates, validates and inserts. On any error it returns no row. */
const BULK: Statement = {
  name: 'bulk',
  text: `with au as materialized (select au.id, au.email from ${TOKEN} and au.is_superuser),
    requested as materialized (
      select n, client as client_id, email, extra, initial_apps, is_demo_user, key
      from rows from (json_to_recordset($2::json)
        as (email varchar, client int, extra json, initial_apps json, is_demo_user boolean), unnest($3::varchar[]))
        with ordinality as requested (email, client, extra, initial_apps, is_demo_user, key, n)),
    pairs as materialized (
      select requested.n, requested.client_id, requested.email, a.id, a.created_at
      from requested cross join json_array_elements_text(requested.initial_apps) as named (id)
      left join apps a on a.id = named.id and a.client_id = requested.client_id),
    lists as (select n, string_agg('"' || id || '"', ',' order by created_at, id) as apps from pairs group by n),
    allowed as materialized (select from au where not exists (select from pairs where id is null)
      and not exists (select from requested join users u using (email)
        join memberships m on m.user_id = u.id and m.client_id = requested.client_id where u.is_active)
      and not exists (select from requested join invitations i using (client_id, email) where i.status = 'pending')),
    ins as (insert into invitations
        (client_id, email, key, extra, is_demo_user, inviter_id, date_invited, expires_at)
      select client_id, requested.email, key, extra, is_demo_user, au.id, now(), now() + interval '14 days'
      from requested, au, allowed
      returning id, client_id, email, key, extra, is_demo_user, date_invited),
    for_apps as (insert into invitation_apps (invitation_id, app_id)
      select ins.id, pairs.id from ins join pairs using (client_id, email)),
    mails as (insert into outbox_mails (kind, recipient, client_id, invitation_id, created_at, next_attempt_at)
      select 'invitation', email, client_id, id, now(), now() from ins)
    ${withAudit(BULK_EVENTS, 4)}
    select ins.id, ins.email, ins.key, lists.apps, ins.extra, ins.date_invited, ins.is_demo_user
    from ins join requested using (client_id, email) left join lists using (n) order by n`,
};
type T = string;
type InvitationRow = [id: T, email: T, key: T, apps: Text, extra: T, at: T, isDemo: T];

const INVITER: Statement = {
  name: 'inviter',
  text: `select ${USER_COLUMNS}, ${APPS_OF_USER}, ${CLIENTS_OF_ADMIN} from ${TOKEN} join users u on u.id = au.id`,
};
type InviterRow = [...UserColumns, apps: Text, administered: Text];

const isElement = (element: unknown): boolean => {
  const { email } = element as { email?: unknown }; // a value of another type has no valid `email`
  return typeof email === 'string' && EMAIL.test(email);
};

const invitationJson = ([id, email, key, apps, extra, at, isDemo]: InvitationRow, inviter: string): string =>
  `{"id":${id},"user":${inviter},"email":${quoted(email)},"key":"${key}","initial_apps":[${apps ?? ''}],"extra":${extra},"date_invited":${instant(at)},"invitation_email_count":0,"is_demo_user":"${flag(isDemo)}"}`;

export const serveWrites = (app: FastifyInstance, query: Query, baseUrl: string): void => {
  app.patch<{ Params: { email: string } }>('/api/v1/jb/users/:email/', async (request, reply) => {
    const body = readPatch(request);
    if (!body) return refuse(reply, 400);
    const values = [digestOf(request), request.params.email, body.first_name, body.apps];
    const [row] = await query<PatchRow>(PATCH, [...values, request.id, request.ip]);
    if (!row) return refuse(reply, 400);
    const [email, handle, _before, ...rest] = row;
    return sendJson(reply, userJson([email, handle, body.first_name, ...rest], row[13], null, baseUrl));
  });

  app.post('/api/v1/jb/users/invitations/', async (request, reply) => {
    const digest = digestOf(request);
    const elements: unknown = JSON.parse(String(request.body));
    if (!Array.isArray(elements) || !elements.every(isElement)) return refuse(reply, 400);
    const keys = elements.map(() => randomBytes(KEY_BYTES).toString('base64url'));
    const rows = await query<InvitationRow>(BULK, [digest, request.body, keys, request.id, request.ip]);
    const [inviter] = await query<InviterRow>(INVITER, [digest]);
    if (rows.length === 0 || !inviter) return refuse(reply, 400);
    const user = userJson(inviter, inviter[13], inviter[14], baseUrl);
    return sendJson(reply, `[${rows.map((row) => invitationJson(row, user)).join(',')}]`);
  });
};
