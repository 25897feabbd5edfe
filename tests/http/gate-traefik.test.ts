import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { setApp } from '../support/access-views.ts';
import { createScript } from '../support/http-clients.ts';
import { ADA, appSuite, DEMO_PASSWORD, EDSGER, GRACE, type TestApp } from '../support/test-app.ts';

const traefik = appSuite('forward authentication for Traefik');

type Example = {
  http: { middlewares: { steward: { forwardAuth: { address: string; authResponseHeaders: string[] } } } };
};

/** The example for Traefik in docs/gate.md. */
const readExample = async () => {
  const document = await readFile(join(import.meta.dirname, '../../docs/gate.md'), 'utf8');
  const [, yaml = ''] = /```yaml\n(# Traefik\n.*?)```/s.exec(document) ?? [];
  const { http }: Example = parse(yaml);
  return http.middlewares.steward.forwardAuth;
};

type Original = { method?: string; uri?: string; headers?: Record<string, string>; as?: string };

/**
 * Asks as Traefik documents it: a GET to the address, with the headers of the original request, except those of the connection,
 * and its method, scheme, host, path and client address in X-Forwarded headers.
 */
const askAsTraefik = async (
  app: TestApp,
  { method = 'GET', uri = '/sales/', headers = {}, as }: Original,
) => {
  const { pathname, search, host } = new URL((await readExample()).address);
  return app.send(`GET !${pathname}${search}`, {
    ...(as !== undefined && { as }),
    headers: {
      accept: 'text/html',
      ...headers,
      host,
      'x-forwarded-method': method,
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'localhost:8000',
      'x-forwarded-uri': uri,
      'x-forwarded-for': '192.0.2.7',
    },
  });
};

traefik('answers with each header that the example passes on to the app', async ({ app }) => {
  const { headers, statusCode } = await askAsTraefik(app, { as: GRACE });
  const { authResponseHeaders } = await readExample();

  assert.is(statusCode, 204);
  const missing = authResponseHeaders.filter((name) => headers[name.toLowerCase()] === undefined);
  assert.equal(missing, []);
  const sent = Object.keys(headers).filter((name) => name.startsWith('x-steward-'));
  assert.equal(sent.sort(), authResponseHeaders.map((name) => name.toLowerCase()).sort());
});

traefik('admits a browser that posts a form to the app, also from another site', async ({ app }) => {
  const script = createScript(app);
  await script.logIn(ADA, DEMO_PASSWORD);
  const headers = {
    cookie: `steward_session=${script.cookies.get('steward_session')}`,
    origin: 'https://other.example.com',
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': '0',
  };
  const { statusCode, headers: answer } = await askAsTraefik(app, { method: 'POST', headers });

  assert.is(statusCode, 204);
  assert.is(answer['x-steward-user'], ADA);
});

traefik('leads people to the login, and back to the page that they wanted', async ({ app }) => {
  const { statusCode, headers } = await askAsTraefik(app, { uri: '/sales/?tab=2' });

  assert.is(statusCode, 303);
  assert.is(headers.location, `http://localhost:8000/login/?next=${encodeURIComponent('/sales/?tab=2')}`);
});

traefik('refuses users who may not open the app, and an app in maintenance', async ({ app }) => {
  assert.is((await askAsTraefik(app, { as: EDSGER })).statusCode, 403);
  await setApp(app, { in_maintenance: true });
  assert.is((await askAsTraefik(app, { as: GRACE })).statusCode, 503);
});

traefik.run();
