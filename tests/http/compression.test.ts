import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import fastify from 'fastify';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { appRouter } from '../../routers/index.ts';
import { compressResponses } from '../../src/http/middleware/compression.ts';
import { mayContainSecrets } from '../../src/http/trpc/trpc-protocol.ts';
import { createScript } from '../support/http-clients.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, STAFF } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const DECODERS = { gzip: gunzipSync, br: brotliDecompressSync };
const ASKED = { 'accept-encoding': 'gzip, deflate, br, zstd' };
const BATCH = `!/trpc/users.list,sites.list?batch=1&input=${encodeURIComponent('{"0":{"json":{}},"1":{"json":{}}}')}`;

const compression = appSuite('compression');

const words = (header: unknown): string[] =>
  String(header)
    .toLowerCase()
    .split(/\s*,\s*/);

compression.before(async ({ app }) => {
  await app.as(ACME).users.update({ email: ADA, extra: { text: 'long '.repeat(2_000) } });
  const items = Array.from({ length: 20 }, (_, n) => ({
    email: `long${n}@x.test`,
    extra: { text: 'lö🎉g '.repeat(1_000) },
  }));
  await app.as(ACME).invitations.create({ items });
});

compression('preserves the content over REST, tRPC and in streams', async ({ app }) => {
  const paths = [
    '/openapi.json',
    '/jb/users/',
    '/jb/users/?app=sales',
    BATCH,
    `/jb/apps/${SALES}/usage/?window=60`,
  ];
  for (const path of [...paths, '/jb/clients/1/users/invitations/']) {
    const plain = await app.send(`GET ${path}`, { as: STAFF });
    assert.ok(plain.rawPayload.length > 1_024, path);
    assert.is(plain.headers['content-encoding'], undefined, path);
    assert.is(plain.body, JSON.stringify(plain.json()), path);
    for (const [encoding, decode] of Object.entries(DECODERS)) {
      const response = await app.send(`GET ${path}`, { as: STAFF, headers: { 'accept-encoding': encoding } });
      assert.is(response.headers['content-encoding'], encoding, path);
      assert.equal(decode(response.rawPayload).toString(), plain.body, path);
      assert.is(response.headers['content-type'], plain.headers['content-type'], path);
      assert.ok(response.rawPayload.length < plain.rawPayload.length / 2, path);
    }
  }
});

compression('of the OpenAPI document keeps its tag, with which it is not sent again', async ({ app }) => {
  const headers = { 'accept-encoding': 'gzip' };
  const { etag } = (await app.send('GET /openapi.json', { headers })).headers;
  const again = await app.send('GET /openapi.json', {
    headers: { ...headers, 'if-none-match': String(etag) },
  });

  assert.match(String(etag), /^W\/"/);
  assert.equal([again.statusCode, again.body], [304, '']);
});

compression('applies only to large responses for clients that accept it', async ({ app }) => {
  const encodingOf = async (path: string, accept?: string) =>
    (await app.send(`GET ${path}`, { as: STAFF, headers: { 'accept-encoding': accept } })).headers[
      'content-encoding'
    ];

  for (const accept of [undefined, '', 'identity', 'deflate', 'gzip;q=0', 'br;q=0, *;q=0'])
    assert.is(await encodingOf('/jb/users/', accept), undefined, accept);
  for (const path of ['/jb/users/grace@acme.test/', '!/trpc/sites.list?input={"json":{}}', '/nowhere/'])
    assert.is(await encodingOf(path, 'gzip'), undefined, path);
});

compression('sets Vary on every response', async ({ app }) => {
  for (const line of ['GET /jb/users/', 'GET /jb/sites/', `GET ${BATCH}`, 'GET /nowhere/', 'PUT /jb/sites/'])
    for (const headers of [{}, ASKED]) {
      const vary = words((await app.send(line, { as: STAFF, headers })).headers.vary);
      assert.equal(vary.filter((word) => word === 'accept-encoding').length, 1, line);
      assert.equal(vary.filter((word) => word === 'accept').length, 1, line);
    }
});

compression('sets the same headers for HEAD as for GET', async ({ app }) => {
  for (const path of ['/jb/users/ada@acme.test/', '/jb/users/', `/jb/apps/${SALES}/usage/?window=60`])
    for (const encoding of ['gzip', 'br', 'identity']) {
      const headers = { 'accept-encoding': encoding };
      const get = await app.send(`GET ${path}`, { as: STAFF, headers });
      const head = await app.send(`HEAD ${path}`, { as: STAFF, headers });
      assert.equal([head.statusCode, head.body], [200, ''], path);
      for (const name of ['content-encoding', 'content-length', 'vary', 'content-type'])
        assert.is(head.headers[name], get.headers[name], `${name} of ${path} as ${encoding}`);
    }
});

/** Response fields with secrets. */
const SECRET_KEY =
  /"(token|csrf_token|link|url|otpauth_url|signature|secret|ticket|text|html)":|"recovery_codes":\{"type":"array"/;

compression('excludes every procedure whose output has a secret', () => {
  const secretProcedures: string[] = [];
  for (const [path, procedure] of Object.entries(appRouter._def.procedures as object)) {
    const output: unknown = Reflect.get(procedure._def, 'output');
    assert.ok(output instanceof z.ZodType, path);
    const schema = JSON.stringify(z.toJSONSchema(output, { unrepresentable: 'any' }));
    if (SECRET_KEY.test(schema)) secretProcedures.push(path);
  }

  assert.ok(secretProcedures.length >= 6, 'tokens, sessions, links, mails');
  const undeclared = secretProcedures.filter((procedure) => !mayContainSecrets(procedure));
  assert.equal(undeclared, []);
});

compression('excludes secrets beside content that an attacker can choose (BREACH)', async ({ app }) => {
  const script = createScript(app);
  const login = await script.logIn(ADA, DEMO_PASSWORD);
  const session = await script.send('GET /session/', { headers: ASKED });
  const input = encodeURIComponent('{"0":{"json":{}},"1":{"json":{}}}');
  const called = (names: string) =>
    app.send(`GET !/trpc/${names}?batch=1&input=${input}`, { as: ADA, headers: ASKED });

  const whole = [
    session,
    await called('users.list,sessions.current'),
    await called('sessions%2Ecurrent,users.list'),
    await called('sessions%252Ecurrent,users.list'),
    await app.send('GET /csrf/', { headers: ASKED }),
    await app.send(`GET !/login/?next=${'x'.repeat(500)}`, { headers: { ...ASKED, accept: 'text/html' } }),
    await app.send('GET !/nowhere/', { headers: { ...ASKED, accept: 'text/html' } }),
  ];
  assert.ok(login.body.length > 1_024 && session.body.length > 1_024);
  for (const [index, response] of whole.entries())
    assert.is(response.headers['content-encoding'], undefined, `${index}: ${response.body.slice(0, 200)}`);
});

compression('excludes responses with a strong ETag', async () => {
  const server = fastify();
  await compressResponses(server);
  server.get('/api/:tag', (request, reply) => {
    if (request.url === '/api/tagged') reply.header('etag', '"1"');
    return reply.type('application/json').send('1'.repeat(5_000));
  });
  const encodingOf = async (url: string) =>
    (await server.inject({ url, headers: ASKED })).headers['content-encoding'];

  assert.is(await encodingOf('/api/tagged'), undefined);
  assert.is(await encodingOf('/api/plain'), 'br');
  await server.close();
});

compression('refuses compressed request bodies', async ({ app }) => {
  const send = (line: string, encoding: string, payload = gzipSync('{"label":"Zip"}')) =>
    app.send(line, {
      as: ACME,
      payload,
      headers: { 'content-type': 'application/json', 'content-encoding': encoding },
    });

  for (const line of ['PATCH /jb/apps/zylTKNVx/', 'POST !/trpc/apps.update'])
    for (const encoding of ['gzip', 'br', 'GZIP', 'identity, gzip']) {
      const refused = await send(line, encoding);
      assert.is(refused.statusCode, 415, `${line} ${encoding}`);
      assert.is(refused.headers['accept-encoding'], 'identity');
    }
  assert.is((await send('PATCH /jb/apps/zylTKNVx/', 'identity', Buffer.from('{}'))).statusCode, 200);
  assert.is((await send('PATCH /jb/apps/zylTKNVx/', 'gzip', Buffer.alloc(0))).statusCode, 200);
});

compression.run();
