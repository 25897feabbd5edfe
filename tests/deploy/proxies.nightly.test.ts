import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { TEST_CERTIFICATE } from '../support/certificates.ts';
import { makeScratchFolder } from '../support/files.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { PROXY_NAMES, startProxy } from '../support/proxies.ts';
import { runCommand, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { initializeDataDir } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const ROOT = 'root@steward.test';
const PASSWORD = 'steward-demo-1';
const MIB = 1024 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };

/** A service with demo data. All proxies serve it at the same address, one after another. */
const startBehind = async () => {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await makeScratchFolder());
  const ports = { http: await freePort(), https: await freePort(), service: await freePort() };
  const origin = `https://localhost:${ports.https}`;
  const settings = {
    DATA_DIR: await initializeDataDir(folder.join('data')),
    PORT: String(ports.service),
    BASE_URL: origin,
    TRUST_PROXY: '1',
    DEMO: '1',
  };
  started.use(await startService('serve', settings));
  const send = createHttpsClient(ports.https);
  const direct = `http://127.0.0.1:${ports.service}`;
  const moved = started.move();
  return { ports, folder, origin, settings, send, direct, stop: () => moved.disposeAsync() };
};

type Context = Awaited<ReturnType<typeof startBehind>> & { proxy: AsyncDisposable };

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const logIn = async ({ send }: { send: ReturnType<typeof createHttpsClient> }, from?: string) => {
  const body = JSON.stringify({ username: ROOT, password: PASSWORD });
  const headers = { ...JSON_TYPE, 'x-forwarded-for': '203.0.113.9', 'x-forwarded-host': 'evil.example' };
  const sent = { headers, body, ...(from !== undefined && { from }) };
  const response = await send('POST /api/v1/api-token-auth/', sent);
  assert.is(response.status, 200, response.body);
  return { authorization: `Token ${JSON.parse(response.body).token}` };
};

/** Of all suites: the last one stops it. */
let shared: ReturnType<typeof startBehind> | undefined;

for (const name of PROXY_NAMES) {
  const behind = suite<Context>(`${name} with the file of deploy/proxy`);

  behind.before(async (context) => {
    shared ??= startBehind();
    Object.assign(context, await shared);
    context.proxy = await startProxy(name, { ...context.ports, services: [context.ports.service] });
    // Proxies with health checks need a moment.
    const isReached = async () => (await context.send('GET /readyz')).status === 200;
    await until(`${name} reaches the service`, isReached);
  });
  behind.after(async ({ proxy, stop }) => {
    await proxy?.[Symbol.asyncDispose]();
    if (name === PROXY_NAMES.at(-1)) await stop?.();
  });

  behind('passes the address of the caller on, and no forged one', async (context) => {
    const caller = '127.0.0.7';
    const headers = await logIn(context, caller);

    const audit = await context.send('GET /api/v1/jb/audit/?limit=1', { headers });

    assert.is(JSON.parse(audit.body)[0].address, caller, audit.body);
  });

  behind('streams a long list unchanged', async (context) => {
    const headers = await logIn(context);
    const path = '/api/v1/jb/apps/zylTKNVx/usage/?window=365';

    const direct = await fetch(context.direct + path, { headers });
    const response = await context.send(`GET ${path}`, { headers });

    assert.is(response.status, 200);
    assert.is(response.headers['content-length'], undefined);
    assert.ok(response.body.length > 100_000, `${response.body.length} bytes`);
    assert.is(sha256(response.body), sha256(await direct.text()));
  });

  behind('serves the login page, and its form works from this origin only', async ({ send, origin }) => {
    const page = await send('GET /login/', { headers: { accept: 'text/html' } });
    const [cookie = ''] = (page.headers['set-cookie'] ?? []).map((line) => line.split(';')[0] ?? '');
    const form = {
      csrf_token: cookie.replace(/^csrftoken=/, ''),
      username: ROOT,
      password: PASSWORD,
    };
    const submit = (from: string) =>
      send('POST /login/', {
        headers: { origin: from, cookie, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
      });

    const own = await submit(origin);
    const foreign = await submit('https://evil.example');

    assert.match(page.headers['content-type'] ?? '', 'text/html');
    assert.match(page.headers['strict-transport-security'] ?? '', 'max-age=');
    assert.is(own.status, 303, own.body);
    assert.match(String(own.headers['set-cookie']), /Secure/);
    assert.is(foreign.status, 403);
  });

  behind('leaves limits up to 16 MiB to the service, and refuses larger bodies itself', async (context) => {
    const headers = { ...JSON_TYPE, ...(await logIn(context)) };
    const post = (body: { body: string } | { announcedBytes: number }) =>
      context.send('POST /api/v1/jb/users/', { headers, ...body });

    // nginx reads a body before it passes the request on, and loses a response that comes before the service has read it.
    const send = () => post(name === 'nginx' ? { body: 'x'.repeat(2 * MIB) } : { announcedBytes: 2 * MIB });
    let ofService = await send();
    for (let tries = 0; name === 'nginx' && ofService.status === 502 && tries < 20; tries += 1)
      ofService = await send();
    const ofProxy = await post({ announcedBytes: 17 * MIB });

    assert.is(ofService.status, 413);
    assert.match(ofService.headers['content-type'] ?? '', 'application/problem+json');
    assert.is(ofProxy.status, 413);
    if (name !== 'caddy') assert.not.match(ofProxy.headers['content-type'] ?? '', 'problem');
  });

  behind('redirects http to https', async ({ ports }) => {
    const response = await fetch(`http://localhost:${ports.http}/login/`, { redirect: 'manual' });

    assert.is(response.status, 308);
    assert.match(response.headers.get('location') ?? '', /^https:\/\/localhost\b.*\/login\/$/);
  });

  behind('satisfies steward doctor', async ({ folder, settings }) => {
    await writeFile(folder.join('ca.pem'), TEST_CERTIFICATE);

    const doctor = await runCommand(['doctor'], { ...settings, NODE_EXTRA_CA_CERTS: folder.join('ca.pem') });

    assert.is(doctor.code, 0, doctor.stdout);
    assert.match(doctor.stdout, /^ok +public URL +Forms sent to this address are accepted\.$/m);
    assert.not.match(doctor.stdout, /^WARNING +public URL/m);
  });

  behind.run();
}
