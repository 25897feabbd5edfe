import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { eachRow, oneRow, type Statement, withClient } from './raw-rows.ts';
import {
  digestOf,
  flag,
  IS_STALE,
  instant,
  JSON_TYPE,
  Output,
  quoted,
  refuse,
  TOKEN,
  touch,
  withAudit,
} from './responses.ts';
import { ADMINISTERED_CLIENTS, APPS, COLUMNS, type UserFields, userJson } from './users.ts';

const EMAIL = /^[^\s@"<>A-Z]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/;
const KEY_BYTES = 24;

const EVENTS = `select 'invitation.create', ins.email, array[ins.client_id],
  json_build_object('id', ins.id, 'apps', requested.initial_apps)
  from ins join requested using (client_id, email)`;

/** Enqueues a mail for each invitation. */
const MAILS = `,
  mails as (insert into outbox_mails (kind, recipient, client_id, invitation_id, created_at, next_attempt_at)
    select 'invitation', email, client_id, id, now(), now() from ins)`;

/** One statement that gets the body as JSON, authenticates, validates and inserts. On any error it returns no row. */
const bulkStatement = (name: string, isComplete: boolean): Statement => ({
  name,
  text: `with au as materialized (
      select au.id, au.email, ${IS_STALE} as is_stale from ${TOKEN} and au.is_superuser),
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
      select ins.id, pairs.id from ins join pairs using (client_id, email))
    ${isComplete ? MAILS + withAudit(EVENTS, 4) : ''}
    select ins.id, ins.email, ins.key, lists.apps, ins.extra, ins.date_invited, ins.is_demo_user, au.id, au.is_stale
    from ins join requested using (client_id, email) left join lists using (n) cross join au order by n`,
});

type T = string;
type BulkFields = [
  id: T,
  email: T,
  key: T,
  apps: T | null,
  extra: T,
  at: T,
  isDemo: T,
  inviter: T,
  isStale: T,
];

const INVITER = {
  name: 'inviter',
  text: `select ${COLUMNS}, ${APPS}, ${ADMINISTERED_CLIENTS} from users u where u.id = $1`,
};
type InviterFields = [...UserFields, apps: T | null, administered: T | null];

const isElement = (element: unknown): boolean => {
  const { email } = element as { email?: unknown }; // a value of another type has no valid `email`
  return typeof email === 'string' && EMAIL.test(email);
};

/** Random keys, cut from one string. */
const newKeys = (count: number): string[] => {
  const text = randomBytes(count * KEY_BYTES).toString('base64url');
  const length = text.length / count;
  return Array.from({ length: count }, (_, index) => text.slice(index * length, (index + 1) * length));
};

const invitationJson = (f: BulkFields, inviter: string): string =>
  `{"id":${f[0]},"user":${inviter},"email":${quoted(f[1])},"key":"${f[2]}","initial_apps":[${f[3] ?? ''}],"extra":${f[4]},"date_invited":${instant(f[5])},"invitation_email_count":0,"is_demo_user":"${flag(f[6])}"}`;

export const serveInvitations = (app: FastifyInstance, pool: Pool, baseUrl: string): void => {
  const serve = (prefix: string, statement: Statement, isComplete: boolean): void => {
    app.post(`${prefix}/api/v1/jb/users/invitations/`, async (request, reply) => {
      const digest = digestOf(request);
      const elements: unknown = JSON.parse(String(request.body));
      if (!Array.isArray(elements) || !elements.every(isElement)) return refuse(reply, 400);
      const origin = isComplete ? [request.id, request.ip] : [];
      const found: BulkFields[] = [];
      await withClient(pool, (client) =>
        eachRow<BulkFields>(
          client,
          statement,
          [digest, request.body, newKeys(elements.length), ...origin],
          (f) => found.push(f),
        ),
      );
      const [first] = found;
      if (!first) return refuse(reply, 400);
      await touch(pool, first[8], digest, request.ip);
      const f = await oneRow<InviterFields>(pool, INVITER, [first[7]]);
      if (!f) return refuse(reply, 401);
      const inviter = userJson(f, f[13] ?? '', f[14] ?? '', baseUrl);
      const output = new Output();
      let separator = '[';
      for (const fields of found) {
        output.add(separator + invitationJson(fields, inviter));
        separator = ',';
      }
      output.add(']');
      reply.raw.once('close', () => output.release());
      return reply.type(JSON_TYPE).send(output.bytes());
    });
  };
  serve('', bulkStatement('bulk', true), true);
  serve('/minimal', bulkStatement('bulk-minimal', false), false);
};
