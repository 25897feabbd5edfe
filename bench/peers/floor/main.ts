import { randomUUID } from 'node:crypto';
import fastify from 'fastify';
import { runPeer } from '../run-peer.ts';
import { serveApps } from './apps.ts';
import { serveInvitations } from './invitations.ts';
import { serveLogin } from './login.ts';
import { servePatch } from './patch.ts';
import { openPool } from './raw-rows.ts';
import { serveUsage } from './usage.ts';
import { serveUsers } from './users.ts';

const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * What the same answers cost when nothing stands between: Fastify, `pg`, statements written by hand and prepared once,
 * and JSON put together from the texts of the columns. It checks tokens, and little else.
 */
runPeer(async ({ connection, baseUrl }) => {
  const pool = openPool(connection);
  const app = fastify({ bodyLimit: MAX_BODY_BYTES, genReqId: () => randomUUID() });
  // As text: whoever needs the object parses it.
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async (_request: unknown, body: string) => body,
  );
  app.get('/healthz', (_request, reply) => reply.send('{"status":"ok"}'));
  serveUsers(app, pool, baseUrl);
  serveUsage(app, pool);
  serveApps(app, pool);
  servePatch(app, pool, baseUrl);
  serveInvitations(app, pool, baseUrl);
  serveLogin(app, pool);
  return app.listen({ host: '127.0.0.1', port: 0 });
});
