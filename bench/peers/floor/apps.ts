import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { digestOf, IS_STALE, JSON_TYPE, refuse, TOKEN, touch } from './access.ts';
import { flag, Output, quoted } from './json.ts';
import { eachRow, withClient } from './raw-rows.ts';

/** The row of the caller comes with each app: one round trip, and what is left over is a few bytes. */
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
  serve(app, pool, '/bare', appsStatement('apps-bare', 'usage_windows'));
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
    // Steward is asked first, and brings the windows to the present day. A floor that went on after midnight would
    // answer old numbers: it fails instead.
    let isOfYesterday = false;
    await withClient(pool, (client) =>
      eachRow<AppFields>(client, statement, [digest], (fields) => {
        isStale = fields[0];
        isOfYesterday ||= fields[1] === 't';
        output.add(separator + appJson(fields));
        separator = ',';
      }),
    );
    reply.raw.once('close', () => output.giveBack());
    if (output.length === 0) return refuse(reply, 401);
    if (isOfYesterday) return refuse(reply, 500);
    await touch(pool, isStale, digest, request.ip);
    output.add(']');
    return reply.type(JSON_TYPE).send(output.bytes());
  });
};
