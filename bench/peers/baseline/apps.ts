import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { eachRow, withClient } from './raw-rows.ts';
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
} from './responses.ts';

/** Authenticates in the same round trip. */
const appsStatement = (name: string, windows: string) => ({
  name,
  text: `select ${IS_STALE}, w.day < (now() at time zone 'UTC')::date,
      a.id, a.slug, a.label, a.description, a.help_html, a.footer_html, a.show_help, a.show_footer,
      coalesce(w.actions30, 0), coalesce(w.users30, 0), coalesce(w.actions60, 0), coalesce(w.users60, 0),
      coalesce(w.actions90, 0), coalesce(w.users90, 0), a.package_info, a.in_maintenance, a.maintenance_message
    from ${TOKEN} cross join apps a left join ${windows} w on w.app_id = a.id order by a.created_at, a.id`,
});
type T = string;
type AppFields = [T, T | null, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T];

const appJson = (f: AppFields): string =>
  `{"id":"${f[2]}","slug":"${f[3]}","label":${quoted(f[4])},"description":${quoted(f[5])},"help_html":${quoted(f[6])},"footer_html":${quoted(f[7])},"show_help":${flag(f[8])},"show_footer":${flag(f[9])},"usage":{"30":{"actions":${f[10]},"users":${f[11]}},"60":{"actions":${f[12]},"users":${f[13]}},"90":{"actions":${f[14]},"users":${f[15]}}},"package_info":${f[16]},"in_maintenance":${flag(f[17])},"maintenance_message":${quoted(f[18])}}`;

export const serveApps = (app: FastifyInstance, pool: Pool): void => {
  serve(app, pool, '', appsStatement('apps', 'bench_peers.counted_windows'));
  serve(app, pool, '/minimal', appsStatement('apps-minimal', 'usage_windows'));
};

const serve = (
  app: FastifyInstance,
  pool: Pool,
  prefix: string,
  statement: { name: string; text: string },
): void => {
  app.get(`${prefix}/api/v1/jb/apps/`, async (request, reply) => {
    const digest = digestOf(request);
    const output = new Output();
    let separator = '[';
    let isStale = '';
    // Steward refreshes the windows each day. Past midnight the baseline fails instead of sending stale numbers.
    let isStaleDay = false;
    await withClient(pool, (client) =>
      eachRow<AppFields>(client, statement, [digest], (fields) => {
        isStale = fields[0];
        isStaleDay ||= fields[1] === 't';
        output.add(separator + appJson(fields));
        separator = ',';
      }),
    );
    reply.raw.once('close', () => output.release());
    if (output.length === 0) return refuse(reply, 401);
    if (isStaleDay) return refuse(reply, 500);
    await touch(pool, isStale, digest, request.ip);
    output.add(']');
    return reply.type(JSON_TYPE).send(output.bytes());
  });
};

const BEFORE = {
  name: 'before-usage',
  text: `select ${IS_STALE}, (select id from apps where id = $2) from ${TOKEN}`,
};
type BeforeFields = [isStale: string, appId: string | null];

const ENTRIES = {
  name: 'usage',
  text: `select action_description, email, full_name, occurred_at, action, extra from usage_entries
    where app_id = $1 and occurred_at >= now() - make_interval(days => $2::int) order by occurred_at desc, id desc`,
};
type EntryFields = [
  description: string,
  email: string,
  fullName: string,
  at: string,
  action: string,
  extra: string,
];

const entryJson = (f: EntryFields): string =>
  `{"action_description":${quoted(f[0])},"email":${quoted(f[1])},"full_name":${quoted(f[2])},"timestamp":${instant(f[3])},"action":"${f[4]}","extra":${f[5]}}`;

type Requested = { Params: { id: string }; Querystring: { window?: string } };

export const serveUsage = (app: FastifyInstance, pool: Pool): void => {
  app.get<Requested>('/api/v1/jb/apps/:id/usage/', async (request, reply) => {
    const digest = digestOf(request);
    const days = Number(request.query.window ?? 30);
    if (!Number.isInteger(days) || days < 1 || days > 3650) return refuse(reply, 400);
    return withClient(pool, async (client) => {
      let before: BeforeFields | undefined;
      await eachRow<BeforeFields>(client, BEFORE, [digest, request.params.id], (fields) => {
        before = fields;
      });
      if (!before) return refuse(reply, 401);
      await touch(client, before[0], digest, request.ip);
      if (before[1] === null) return refuse(reply, 404);
      const output = new Output();
      let separator = '[';
      await eachRow<EntryFields>(client, ENTRIES, [before[1], days], (fields) => {
        output.add(separator + entryJson(fields));
        separator = ',';
      });
      output.add(separator === '[' ? '[]' : ']');
      reply.raw.once('close', () => output.release());
      return reply.type(JSON_TYPE).send(output.bytes());
    });
  });
};
