import { fastifyRequestHandler } from '@trpc/server/adapters/fastify';
import fastify from 'fastify';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { runPeer } from '../run-peer.ts';
import { apps, usage } from './apps.ts';
import { router, type Tables } from './context.ts';
import { invitations } from './invitations.ts';
import { users } from './users.ts';

const MAX_BODY_BYTES = 16 * 1024 * 1024;
const INT8_OID = 20;

const appRouter = router({ users, apps, usage, invitations });

/** An idiomatic tRPC and Kysely implementation without special optimizations. */
runPeer(async ({ connection, baseUrl }) => {
  pg.types.setTypeParser(INT8_OID, Number);
  const pool = new pg.Pool({ ...connection, max: 10, options: '-c TimeZone=UTC' });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const app = fastify({ bodyLimit: MAX_BODY_BYTES });
  app.get('/healthz', async () => ({ status: 'ok' }));
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
