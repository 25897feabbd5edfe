import { fastifyRequestHandler } from '@trpc/server/adapters/fastify';
import fastify from 'fastify';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { z } from 'zod';
import { runPeer } from '../../processes.ts';
import { router, staff, type Tables } from './context.ts';
import { invitations } from './invitations.ts';
import { users } from './users.ts';

const MAX_BODY_BYTES = 16 * 1024 * 1024;
const INT8_OID = 20;

const Window = z.object({ actions: z.int(), users: z.int() });
const App = z.object({
  id: z.string(),
  slug: z.string(),
  label: z.string(),
  description: z.string(),
  help_html: z.string(),
  footer_html: z.string(),
  show_help: z.boolean(),
  show_footer: z.boolean(),
  usage: z.object({ '30': Window, '60': Window, '90': Window }),
  package_info: z.record(z.string(), z.unknown()),
  in_maintenance: z.boolean(),
  maintenance_message: z.string(),
});
const Entry = z.object({
  action_description: z.string(),
  email: z.string(),
  full_name: z.string(),
  timestamp: z.date(),
  action: z.string(),
  extra: z.record(z.string(), z.unknown()),
});

const DAY_MS = 24 * 3600 * 1000;

const apps = router({
  list: staff
    .input(z.object({}))
    .output(z.array(App))
    .query(async ({ ctx }) => {
      const rows = await ctx.db
        .selectFrom('apps as a')
        .leftJoin('bench_peers.counted_windows as w', 'w.app_id', 'a.id')
        .selectAll('a')
        .select(['actions30', 'users30', 'actions60', 'users60', 'actions90', 'users90'])
        .orderBy('a.created_at')
        .orderBy('a.id')
        .execute();
      return rows.map((row) => ({
        ...row,
        usage: {
          '30': { actions: row.actions30 ?? 0, users: row.users30 ?? 0 },
          '60': { actions: row.actions60 ?? 0, users: row.users60 ?? 0 },
          '90': { actions: row.actions90 ?? 0, users: row.users90 ?? 0 },
        },
      }));
    }),
});

const usage = router({
  listByApp: staff
    .input(z.object({ app_id: z.string(), window: z.int().min(1).max(3650).default(30) }))
    .output(z.array(Entry))
    .query(({ ctx, input }) =>
      ctx.db
        .selectFrom('usage_entries')
        .select(['action_description', 'email', 'full_name', 'occurred_at as timestamp', 'action', 'extra'])
        .where('app_id', '=', input.app_id)
        .where('occurred_at', '>=', new Date(Date.now() - input.window * DAY_MS))
        .orderBy('occurred_at', 'desc')
        .orderBy('id', 'desc')
        .execute(),
    ),
});

const appRouter = router({ users, apps, usage, invitations });

/** An idiomatic tRPC and Kysely implementation without special optimizations. */
runPeer(async ({ connection, baseUrl }) => {
  pg.types.setTypeParser(INT8_OID, Number);
  const pool = new pg.Pool({ ...connection, max: 10, options: '-c TimeZone=UTC' });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const app = fastify({ bodyLimit: MAX_BODY_BYTES });
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async (_request: unknown, body: string) => body,
  );
  app.all<{ Params: { '*': string } }>('/trpc/*', async (req, res) => {
    await fastifyRequestHandler({
      router: appRouter,
      req,
      res,
      path: req.params['*'],
      createContext: () => ({
        db,
        baseUrl,
        authorization: req.headers.authorization ?? '',
        address: req.ip,
      }),
    });
    return res;
  });
  return app.listen({ host: '127.0.0.1', port: 0 });
});
