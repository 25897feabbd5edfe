import { once } from 'node:events';
import { createServer } from 'node:http';
import { decodeJwt } from 'jose';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../support/free-port.ts';
import { GATE_PROXIES, type GateProxy, startGateProxy } from '../support/gate-proxies.ts';
import { makeScratchFolder } from '../support/scratch-folder.ts';
import { startService } from '../support/service-process.ts';
import { SALES } from '../support/usage.ts';

const PASSWORD = 'steward-demo-1';

/** An app that responds with what it got. */
const startApp = async (port: number) => {
  const server = createServer(async (request, response) => {
    const body = (await Array.fromAsync(request)).join('');
    response.end(JSON.stringify({ url: request.url, headers: request.headers, body }));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { [Symbol.asyncDispose]: async () => void server.close() };
};

/** The demo service, an app, and a proxy that asks the service. */
const start = async (name: GateProxy) => {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await makeScratchFolder());
  const ports = { proxy: await freePort(), service: await freePort(), app: await freePort() };
  const settings = {
    DATA_DIR: folder.join('data'),
    PORT: String(ports.service),
    BASE_URL: `http://localhost:${ports.service}`,
    DEMO: '1',
  };
  const service = started.use(await startService('serve', settings));
  started.use(await startApp(ports.app));
  started.use(await startGateProxy(name, ports));
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`http://localhost:${ports.proxy}${path}`, { redirect: 'manual', ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const logIn = async (email: string) => ({
    authorization: `Token ${(await service.logIn(email, PASSWORD)).token}`,
  });
  const moved = started.move();
  return { service, send, logIn, [Symbol.asyncDispose]: () => moved.disposeAsync() };
};

for (const name of GATE_PROXIES) {
  const gate = suite<Awaited<ReturnType<typeof start>>>(`${name} asks the gate`);

  gate.before(async (context) => {
    Object.assign(context, await start(name));
  });
  gate.after((context) => context[Symbol.asyncDispose]?.());

  gate('and lets users through with who they are, whatever the browser claims', async ({ send, logIn }) => {
    const forged = {
      'x-steward-user': 'root@steward.test',
      'x-steward-ticket': 'x',
      'x-steward-roles': 'superuser',
    };
    const headers = { ...(await logIn('ada@acme.test')), ...forged, 'content-type': 'text/plain' };
    const response = await send('/sales/report?year=2026', { method: 'POST', headers, body: 'a form' });
    assert.is(response.status, 200, response.text);
    const app = JSON.parse(response.text);

    assert.is(app.url, '/sales/report?year=2026');
    assert.is(app.body, 'a form');
    const { email, aud } = decodeJwt<{ email: string }>(app.headers['x-steward-ticket']);
    assert.equal([email, aud], ['ada@acme.test', 'sales']);
    assert.is(app.headers['x-steward-user'], 'ada@acme.test');
    assert.is(app.headers['x-steward-roles'], 'member');
  });

  gate('and sends people who are not logged in to the login page', async ({ send, service }) => {
    const response = await send('/sales/', { headers: { accept: 'text/html' } });

    assert.is(response.status, 303);
    const login = `http://localhost:${new URL(service.address).port}/login/?next=%2Flaunch%2Fsales%2F`;
    assert.is(response.headers.get('location'), login);
  });

  gate('and refuses users who may not open the app', async ({ send, logIn }) => {
    assert.is((await send('/sales/', { headers: await logIn('edsger@globex.test') })).status, 403);
  });

  gate('and says that an app is in maintenance', async ({ send, logIn, service }) => {
    const { token } = await service.logIn('admin@acme.test', PASSWORD);
    const change = (in_maintenance: boolean) =>
      service.send(`PATCH /jb/apps/${SALES}/`, { token, body: { in_maintenance } });
    await change(true);
    assert.is((await send('/sales/', { headers: await logIn('ada@acme.test') })).status, 503);
    await change(false);
    assert.is((await send('/sales/', { headers: await logIn('ada@acme.test') })).status, 200);
  });

  gate.run();
}
