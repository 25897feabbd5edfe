import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { digestOf, IS_STALE, JSON_TYPE, refuse, TOKEN, touch } from './access.ts';
import { instant, Output, quoted } from './json.ts';
import { eachRow, withClient } from './raw-rows.ts';

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

type Asked = { Params: { id: string }; Querystring: { window?: string } };

export const serveUsage = (app: FastifyInstance, pool: Pool): void => {
  app.get<Asked>('/api/v1/jb/apps/:id/usage/', async (request, reply) => {
    const digest = digestOf(request);
    const days = Number(request.query.window ?? 30);
    if (!Number.isInteger(days) || days < 1 || days > 3650) return refuse(reply, 400);
    return withClient(pool, async (client) => {
      let before: BeforeFields | undefined;
      await eachRow<BeforeFields>(client, BEFORE, [digest, request.params.id], (fields) => {
        before = fields;
      });
      if (!before) return refuse(reply, 401);
      await touch(pool, before[0], digest, request.ip);
      if (before[1] === null) return refuse(reply, 404);
      const output = new Output();
      let separator = '[';
      await eachRow<EntryFields>(client, ENTRIES, [before[1], days], (fields) => {
        output.add(separator + entryJson(fields));
        separator = ',';
      });
      output.add(separator === '[' ? '[]' : ']');
      reply.raw.once('close', () => output.giveBack());
      return reply.type(JSON_TYPE).send(output.bytes());
    });
  });
};
