import * as assert from 'uvu/assert';
import { createVisitor } from '../support/http-clients.ts';
import { startLogged } from '../support/logged-app.ts';
import { ADA, appSuite, DEMO_PASSWORD } from '../support/test-app.ts';

const forms = appSuite('forms behind a proxy');

const CAUSE =
  'The origin https://steward.example.com does not match the host 10.0.0.5:8000 of this request. ' +
  'Behind a proxy, preserve the Host header or set TRUST_PROXY.';

/** Headers of a browser at https://steward.example.com after a proxy has replaced `Host`. */
const AS_BROWSER = { origin: 'https://steward.example.com', 'sec-fetch-site': 'same-origin' };

forms('a login that fails because a proxy replaced Host says so, also in the log', async ({ app }) => {
  const { logged, entries } = await startLogged(app);
  const visitor = createVisitor(logged, '10.0.0.5:8000');
  const { forms: shown } = await visitor.get('/login/');
  const fields = { ...shown[0]?.fields, username: ADA, password: DEMO_PASSWORD };
  const page = await visitor.post('/login/', fields, AS_BROWSER);
  await logged.close();

  assert.is(page.status, 403);
  assert.ok(page.text.includes(CAUSE), page.text);
  const warning = entries().find(({ msg }) => /TRUST_PROXY/.test(msg));
  assert.equal([warning?.origin, warning?.host], ['https://steward.example.com', '10.0.0.5:8000']);
});

forms('a session login over REST returns the same reason', async ({ app }) => {
  const response = await app.send('POST /session/', {
    payload: { username: ADA, password: DEMO_PASSWORD },
    headers: { host: '10.0.0.5:8000', ...AS_BROWSER },
  });

  assert.is(response.statusCode, 403);
  assert.is(response.json().detail, CAUSE);
});

forms('a hostile Origin header is truncated and escaped', async ({ app }) => {
  const visitor = createVisitor(app);
  await visitor.get('/login/');
  const page = await visitor.submit('/login/', { username: ADA, password: 'x' });
  const hostile = await visitor.post('/login/', {}, { origin: `<script>${'x'.repeat(5_000)}` });

  assert.is(page.status, 400);
  assert.is(hostile.status, 403);
  assert.not.match(hostile.body, '<script>');
  assert.ok(hostile.body.length < page.body.length + 2_000);
});

forms.run();

const rewrites = appSuite('sessions behind the rewrites of Next.js', { TRUST_PROXY: '1' });

rewrites('are compared with X-Forwarded-Host', async ({ app }) => {
  const response = await app.send('POST /session/', {
    payload: { username: ADA, password: DEMO_PASSWORD },
    headers: {
      host: '10.0.0.5:8000',
      origin: 'http://localhost:3000',
      'sec-fetch-site': 'same-origin',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'localhost:3000',
      'x-forwarded-proto': 'http',
    },
  });

  assert.is(response.statusCode, 200, response.body);
});

rewrites.run();
