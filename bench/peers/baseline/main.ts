import { createHash, randomBytes, randomUUID } from 'node:crypto';
import argon2 from 'argon2';
import fastify, { type FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { runPeer } from '../../processes.ts';
import { serveApps, serveUsage } from './apps.ts';
import { serveInvitations } from './invitations.ts';
import { servePatch } from './patch.ts';
import { oneRow, openPool } from './raw-rows.ts';
import { refuse, sendLatin1, withAudit } from './responses.ts';
import { serveUsers } from './users.ts';

const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * The cost of equal responses without an application: Fastify, `pg`, handwritten prepared statements,
 * and JSON put together from the texts of the columns. It checks tokens, and little else.
 */
runPeer(async ({ connection, baseUrl }) => {
  const pool = openPool(connection);
  const app = fastify({ bodyLimit: MAX_BODY_BYTES, genReqId: () => randomUUID() });
  // Kept as a string: some handlers pass it to PostgreSQL unparsed.
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

const HASH = {
  name: 'password-hash',
  text: 'select password_hash from users where email = $1 and is_active and password_hash is not null',
};

const EVENTS = `select 'login.token', au.email, array(select client_id from memberships m where m.user_id = au.id), json '{}'
  from au`;

/** The user goes first, on the condition that the password is still the one that was verified. */
const LOG_IN = {
  name: 'log-in',
  text: `with au as (update users set last_login = now() where email = $1 and is_active and password_hash = $2
      returning id, email),
    added as (insert into api_tokens (user_id, digest, created_at, last_used, last_address)
      select id, $3, now(), now(), $5 from au),
    ended as (delete from api_tokens where id in (select t.id from api_tokens t join au on au.id = t.user_id
      where t.name = '' order by t.created_at desc, t.id desc offset 49))${withAudit(EVENTS, 4)}
    select id from au`,
};

type Body = { username?: unknown; password?: unknown } | null;

export const serveLogin = (app: FastifyInstance, pool: Pool): void => {
  app.post('/api/v1/api-token-auth/', async (request, reply) => {
    const body = JSON.parse(String(request.body)) as Body; // looked at below
    const { username, password } = body ?? {};
    if (typeof username !== 'string' || typeof password !== 'string') return refuse(reply, 400);
    const email = username.trim().toLowerCase();
    const found = await oneRow<[hash: string]>(pool, HASH, [email]);
    // By the parameters that Steward's hashes have, as they stand in the hash.
    if (!found || !(await argon2.verify(found[0], password))) return refuse(reply, 400);
    const token = randomBytes(20).toString('hex');
    const digest = createHash('sha256').update(token).digest('hex');
    const user = await oneRow(pool, LOG_IN, [email, found[0], digest, request.id, request.ip]);
    return user ? sendLatin1(reply, `{"token":"${token}"}`) : refuse(reply, 400);
  });
};
