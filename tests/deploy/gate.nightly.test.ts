import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { decodeJwt } from 'jose';
import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { GATE_PROXIES, type GateProxy, startGateProxy } from '../support/proxies.ts';
import { startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { initializeDataDir } from '../support/test-server.ts';
import { SALES } from '../support/usage.ts';

const PASSWORD = 'steward-demo-1';

/** An app that responds with what it got. */
const startApp = async (port: number) => {
  const server = createServer(async (request, response) => {
    const body = (await Array.fromAsync(request)).join('');
    response.end(JSON.stringify({ url: request.url, headers: request.headers, body }));
  });
  server.on('upgrade', ({ headers }, socket) => {
    const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    const answer = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
    answer.push(`Sec-WebSocket-Accept: ${accept}`, `X-User: ${headers['x-steward-user']}`);
    socket.write(`${answer.join('\r\n')}\r\n\r\n`);
    socket.pipe(socket);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { [Symbol.asyncDispose]: async () => void server.close() };
};

/** A proxy that asks the service about each request to the app. */
const startProxy = async (name: GateProxy, { service, app }: { service: number; app: number }) => {
  const ports = { proxy: await freePort(), service, app };
  const proxy = await startGateProxy(name, ports);
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`http://localhost:${ports.proxy}${path}`, { redirect: 'manual', ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  /** Without the normalization of `fetch`. */
  const ask = (path: string, headers: Record<string, string>, port = ports.proxy) =>
    httpRequest({ host: 'localhost', family: 4, port, path, headers }).end();
  const statusOf = async (path: string, headers: Record<string, string>, port = ports.proxy) => {
    const [response] = await once(ask(path, headers, port), 'response');
    response.resume();
    return response.statusCode;
  };
  return { ...proxy, ports, send, ask, statusOf };
};

/** The response, with the socket if the protocol was switched. */
const answerTo = (request: ClientRequest) =>
  new Promise<{ response: IncomingMessage; socket: Duplex | null }>((resolve, reject) => {
    request.once('upgrade', (response, socket) => resolve({ response, socket }));
    request.once('response', (response) => resolve({ response, socket: null }));
    request.once('error', reject);
  });

type Proxy = Awaited<ReturnType<typeof startProxy>>;

/** The demo service, an app, and each proxy in front of them. */
const start = async (started: AsyncDisposableStack) => {
  const folder = started.use(await makeScratchFolder());
  const ports = { service: await freePort(), app: await freePort() };
  const settings = {
    DATA_DIR: await initializeDataDir(folder.join('data')),
    PORT: String(ports.service),
    BASE_URL: `http://localhost:${ports.service}`,
    DEMO: '1',
  };
  const service = started.use(await startService('serve', settings));
  started.use(await startApp(ports.app));
  const proxies = new Map<GateProxy, Proxy>();
  for (const name of GATE_PROXIES) proxies.set(name, started.use(await startProxy(name, ports)));
  const tokens = new Map<string, Promise<{ token: string }>>();
  const tokenOf = async (email: string): Promise<string> => {
    const login = tokens.get(email) ?? service.logIn(email, PASSWORD);
    tokens.set(email, login);
    return (await login).token;
  };
  const logIn = async (email: string) => ({ authorization: `Token ${await tokenOf(email)}` });
  return { service, proxies, tokenOf, logIn };
};

type Gate = Awaited<ReturnType<typeof start>>;
const gates = suiteWith('a proxy in front of an app', start);

for (const name of GATE_PROXIES) {
  const gate = (what: string, test: (context: Gate & Proxy) => Promise<void>): void =>
    gates(`${name} ${what}`, (context) => {
      const proxy = context.proxies.get(name);
      assert.ok(proxy);
      return test({ ...context, ...proxy });
    });

  gate('tells the app who the user is, and not who the browser claims', async ({ send, logIn }) => {
    const forged = {
      'x-steward-user': 'root@steward.test',
      'x-steward-client': 'Globex Data',
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
    assert.is(app.headers['x-steward-client'], 'Acme Analytics');
    assert.is(app.headers['x-steward-roles'], 'member');
    assert.is(app.headers['x-steward-code'] ?? '', '');
  });

  gate('passes on no header that an app may take for one of Steward', async ({ send, logIn }) => {
    const forged = {
      x_steward_user: 'root@steward.test',
      'x-steward_roles': 'superuser',
    };
    const { text } = await send('/sales/', { headers: { ...(await logIn('ada@acme.test')), ...forged } });

    const headers: Record<string, string> = JSON.parse(text).headers;
    for (const name of Object.keys(forged)) assert.is(headers[name], undefined, name);
  });

  gate('lets no caller drop what it adds', async ({ ask, logIn }) => {
    const dropped = 'X-Steward-User, X-Steward-Client, X-Steward-Roles, X-Steward-Ticket';
    for (const connection of [`close, ${dropped}`, `keep-alive, ${dropped}`]) {
      const headers = { ...(await logIn('ada@acme.test')), connection };
      const [response] = await once(ask('/sales/', headers), 'response');
      const app = JSON.parse((await Array.fromAsync(response)).join(''));
      assert.is(app.headers['x-steward-user'], 'ada@acme.test');
      assert.is(app.headers['x-steward-roles'], 'member');
      assert.not.match(String(app.headers.connection ?? ''), /steward/i);
    }
  });

  gate('passes on the WebSocket of a person who may open the app', async ({ ask, statusOf, logIn }) => {
    const websocket = {
      connection: 'keep-alive, Upgrade, X-Steward-User',
      upgrade: 'WebSocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const headers = { ...(await logIn('ada@acme.test')), ...websocket };
    const { response, socket } = await answerTo(ask('/sales/', headers));
    assert.is(response.statusCode, 101);
    assert.is(response.headers['x-user'], 'ada@acme.test');
    socket?.write('hello');
    assert.equal(await once(socket ?? response, 'data'), [Buffer.from('hello')]);
    socket?.destroy();

    const stranger = { ...(await logIn('edsger@globex.test')), ...websocket };
    assert.is(await statusOf('/sales/', stranger), 403);
  });

  gate('passes no credentials of Steward on to the app', async ({ send, tokenOf, logIn }) => {
    const token = await tokenOf('ada@acme.test');
    for (const scheme of ['Token', 'bearer', 'JWT']) {
      const { text } = await send('/sales/', { headers: { authorization: `${scheme} ${token}` } });
      assert.is(JSON.parse(text).headers.authorization, undefined, scheme);
    }
    const cookies = ['steward_session=a', '__Host-steward_session=b', '__Host-steward_embed_sales=c'];
    const steward = [...cookies, 'csrftoken=d'].join('; ');
    const cookie = `${steward}; first=1; ${steward}; not_steward_session=2; ${steward}`;
    const { text } = await send('/sales/', { headers: { ...(await logIn('ada@acme.test')), cookie } });
    const kept = String(JSON.parse(text).headers.cookie ?? '').replace(/;$/, '');
    assert.is(kept, name === 'nginx' ? '' : 'first=1; not_steward_session=2');
    const onlySteward = { ...(await logIn('ada@acme.test')), cookie: steward };
    assert.is(JSON.parse((await send('/sales/', { headers: onlySteward })).text).headers.cookie ?? '', '');
  });

  gate('refuses paths that the app may take for those of another app', async ({ statusOf, logIn }) => {
    const headers = await logIn('ada@acme.test');
    const encoded = ['%2e%2e', '%2E.', '.%2e', '..%2f', '..%2Fx', '..%5cx'];
    const encodedTwice = ['%252e%252e', '.%252E', '%25252e.', '..%252fx', '..%25255Cx'];
    const digitsEncoded = ['%25%32%65%25%32%65', '%252%65.', '%25%32E.', '..%25%2532fx', '..%25%35%63x'];
    const between = ['..', '.', '..\\x', '..;', '', ...encoded, ...encodedTwice, ...digitsEncoded];
    for (const part of between)
      for (const path of [`/churn/${part}/sales/x`, `/sales/${part}/churn/x`])
        assert.is(await statusOf(path, headers), 400, path);
    for (const path of [
      '/sales/..',
      '/sales/.',
      '/sales/..?a=1',
      '/churn/..%2fsales/x',
      '//sales/',
      '/sales/%',
      '/sales/%2',
      '/sales/%zz',
    ])
      assert.is(await statusOf(path, headers), 400, path);
    for (const path of [
      '/sales/..x/a.b?path=/../%2e;//',
      '/sales/%20',
      '/sales/100%25',
      '/sales/100%25%20off',
      '/sales/.well-known/x',
    ])
      assert.is(await statusOf(path, headers), 200, path);
  });

  gate('sends people who are not logged in to the login page', async ({ send, service }) => {
    const response = await send('/sales/', { headers: { accept: 'text/html' } });

    assert.is(response.status, 303);
    const login = `http://localhost:${new URL(service.address).port}/login/?next=%2Flaunch%2Fsales%2F`;
    assert.is(response.headers.get('location'), login);
  });

  gate('refuses users who may not open the app', async ({ send, logIn }) => {
    assert.is((await send('/sales/', { headers: await logIn('edsger@globex.test') })).status, 403);
  });

  gate('lets only sites of the client show the app', async ({ send, logIn, tokenOf, service }) => {
    const token = await tokenOf('admin@acme.test');
    const allow = (embed_origins: string[]) =>
      service.send('PATCH /jb/clients/1/gate/', { token, body: { embed_origins } });
    const policy = async () => {
      const { headers } = await send('/sales/', { headers: await logIn('ada@acme.test') });
      return headers.get('content-security-policy');
    };
    assert.is(await policy(), "frame-ancestors 'none'");
    await allow(['https://one.example.com', 'https://two.example.com']);
    assert.is(await policy(), 'frame-ancestors https://one.example.com https://two.example.com');
    await allow([]);
  });

  gate('says that an app is in maintenance', async ({ send, logIn, tokenOf, service }) => {
    const token = await tokenOf('admin@acme.test');
    const change = (in_maintenance: boolean) =>
      service.send(`PATCH /jb/apps/${SALES}/`, { token, body: { in_maintenance } });
    await change(true);
    assert.is((await send('/sales/', { headers: await logIn('ada@acme.test') })).status, 503);
    await change(false);
    assert.is((await send('/sales/', { headers: await logIn('ada@acme.test') })).status, 200);
  });

  if (name === 'haproxy')
    gate('refuses requests when its script fails', async ({ ports, statusOf, logIn }) => {
      const proxy = await freePort();
      const fails = (script: string) => {
        const changed = script.replace('  remove_credentials(txn, headers)\n', '  error("broken")\n');
        assert.is.not(changed, script);
        return changed;
      };
      await using _broken = await startGateProxy(name, { ...ports, proxy }, fails);
      assert.is(await statusOf('/sales/', await logIn('ada@acme.test'), proxy), 503);
    });
}

gates.run();
