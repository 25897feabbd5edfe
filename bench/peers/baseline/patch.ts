import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { oneRow, type Statement } from './raw-rows.ts';
import { digestOf, IS_STALE, refuse, sendLatin1, TOKEN, touch, withAudit } from './responses.ts';
import { COLUMNS, type UserFields, userJson } from './users.ts';

/** Audit events: one for the user, one for each client whose apps changed. */
const EVENTS = `
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
const patchStatement = (name: string, isAudited: boolean): Statement => ({
  name,
  text: `with au as (select au.email, ${IS_STALE} as is_stale from ${TOKEN} and au.is_superuser),
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
    ${isAudited ? withAudit(EVENTS, 5) : ''}
    select ${COLUMNS}, (select string_agg('"' || id || '"', ',' order by created_at, id) from requested),
      (select is_stale from au), exists (select from allowed)
    from (values (1)) always left join u on true`,
});

type PatchFields = [...UserFields, apps: string | null, isStale: string | null, isAllowed: string];
type Body = { first_name: string; apps: string[] };

const readBody = (request: FastifyRequest): Body | null => {
  const body = JSON.parse(String(request.body)) as Partial<Record<keyof Body, unknown>> | null; // looked at below
  const { first_name: firstName, apps } = body ?? {};
  if (typeof firstName !== 'string' || firstName.length > 150 || !Array.isArray(apps)) return null;
  return apps.every((id) => typeof id === 'string')
    ? { first_name: firstName, apps: [...new Set(apps)] }
    : null;
};

/** Latin-1, like the columns that the driver returns: one character per UTF-8 byte. */
const asBytes = (text: string): string => Buffer.from(text).toString('latin1');

export const servePatch = (app: FastifyInstance, pool: Pool, baseUrl: string): void => {
  const serve = (prefix: string, statement: Statement, isAudited: boolean): void => {
    app.patch<{ Params: { email: string } }>(`${prefix}/api/v1/jb/users/:email/`, async (request, reply) => {
      const digest = digestOf(request);
      const body = readBody(request);
      if (!body) return refuse(reply, 400);
      const values = [digest, request.params.email, body.first_name, body.apps];
      const origin = isAudited ? [request.id, request.ip] : [];
      const f = await oneRow<PatchFields>(pool, statement, [...values, ...origin]);
      if (!f || f[14] === null) return refuse(reply, 401);
      if (f[0] === null) return refuse(reply, 404);
      if (f[15] !== 't') return refuse(reply, 400);
      await touch(pool, f[14], digest, request.ip);
      const [email, handle, _before, ...rest] = f;
      return sendLatin1(
        reply,
        userJson([email, handle, asBytes(body.first_name), ...rest], f[13] ?? '', '', baseUrl),
      );
    });
  };
  serve('', patchStatement('patch', true), true);
  serve('/minimal', patchStatement('patch-minimal', false), false);
};
