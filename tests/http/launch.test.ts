import * as assert from 'uvu/assert';
import { createApp } from '../../src/app.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { claimsIn, setApp, setClient } from '../support/access-views.ts';
import { createVisitor } from '../support/http-clients.ts';
import { ADA, appSuite, DEMO_PASSWORD, EDSGER, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const launch = appSuite('/launch/{app_slug}/');

launch.before(({ app }) => setApp(app, { launch_url: 'https://sales.example.com/open' }));

const logIn = async (app: Pick<TestApp, 'server'>, username: string) => {
  const visitor = createVisitor(app);
  const { forms } = await visitor.get('/login/');
  await visitor.post('/login/', { ...forms[0]?.fields, username, password: DEMO_PASSWORD });
  return visitor;
};

launch('sends the browser to the app, with a code that gives a ticket of its user', async ({ app }) => {
  const { status, location, headers } = await (await logIn(app, GRACE)).get('/launch/sales/?stack=overview');
  const [, code = ''] =
    /^https:\/\/sales\.example\.com\/open\?code=([\w-]{43})$/.exec(String(location)) ?? [];
  const { ticket } = await app.as(null).tickets.exchange({ code, app: 'sales' });

  assert.is(status, 303);
  assert.equal([headers['cache-control'], headers['referrer-policy']], ['no-store', 'strict-origin']);
  assert.equal([claimsIn(ticket).email, claimsIn(ticket).stack], [GRACE, 'overview']);
});

launch('asks for the login first, and comes back', async ({ app }) => {
  const visitor = createVisitor(app);
  const first = await visitor.get('/launch/sales/?stack=overview');
  assert.is(first.location, '/login/?next=%2Flaunch%2Fsales%2F%3Fstack%3Doverview');

  const login = await visitor.get(String(first.location));
  // Chromium checks redirects after a form against this directive, also the one to the app.
  assert.match(String(login.headers['content-security-policy']), "form-action 'self' http: https:");
  const fields = { ...login.forms[0]?.fields, username: GRACE, password: DEMO_PASSWORD };
  const second = await visitor.post('/login/', fields);
  assert.is(second.location, '/launch/sales/?stack=overview');
  assert.match(
    String((await visitor.get(String(second.location))).location),
    'https://sales.example.com/open?code=',
  );
});

launch('leads nowhere else before the login', async ({ app }) => {
  for (const path of [
    '/launch//evil.test/',
    '/launch/sales/?next=https://evil.test',
    '/launch/%2f%2fevil.test/',
  ]) {
    const { location } = await createVisitor(app).get(path);
    if (location === undefined) continue;
    const next = new URL(String(location), 'https://here.test').searchParams.get('next') ?? '';
    assert.is(new URL(next, 'https://here.test').origin, 'https://here.test', path);
  }
});

launch('shows the message of an app in maintenance', async ({ app }) => {
  const maintenance = { in_maintenance: true, maintenance_message: 'Back at <b>noon</b>.' };
  await app.db().updateTable('apps').set(maintenance).where('slug', '=', 'sales').execute();
  const page = await (await logIn(app, GRACE)).get('/launch/sales/');
  await setApp(app, { in_maintenance: false });

  assert.equal([page.status, page.headers['retry-after']], [503, '2']);
  assert.match(page.text, 'Sales is in maintenance');
  assert.match(page.body, 'Back at <b>noon</b>.');
});

launch('says that an app without an address cannot be opened yet', async ({ app }) => {
  await setApp(app, { launch_url: '' });
  const page = await (await logIn(app, GRACE)).get('/launch/sales/');
  await setApp(app, { launch_url: 'https://sales.example.com/open' });

  assert.equal([page.status, page.location], [404, undefined]);
  assert.match(page.text, 'Sales cannot be opened yet');
  assert.match(page.text, 'Acme', 'the branding of the client');
});

launch('does not show members that an app of a closed client exists', async ({ app }) => {
  await setClient(app, 1, false);
  const [member, admin] = await Promise.all([logIn(app, ADA), logIn(app, ROOT)]);
  const [hidden, closed] = [await member.get('/launch/sales/'), await admin.get('/launch/sales/')];
  await setClient(app, 1, true);

  assert.equal([hidden.status, closed.status], [404, 403]);
  assert.match(closed.text, 'This app is closed');
});

launch('answers 404 for apps of others and for unknown ones', async ({ app }) => {
  const visitor = await logIn(app, EDSGER);

  for (const slug of ['sales', 'unknown'])
    assert.is((await visitor.get(`/launch/${slug}/`)).status, 404, slug);
});

launch('leaves no code, ticket or key in a log', async ({ app }) => {
  const lines: string[] = [];
  const logger = createLogger('trace', { destination: { write: (line) => lines.push(line) } });
  const { config, connection, clock } = app;
  const logged = await createApp({ config, connection, clock, logger, secretKey: 'y'.repeat(32) });
  const as = { authorization: `Token ${await app.tokenOf(ROOT)}` };
  const post = (path: string, payload: object, headers = {}) =>
    logged.server.inject({ method: 'POST', url: `/api/v1/gate/${path}/`, payload, headers });
  try {
    const { location } = await (await logIn(logged, GRACE)).get('/launch/sales/');
    const code = new URL(String(location)).searchParams.get('code') ?? '';
    const { ticket } = (await post('exchange', { code, app: 'sales' })).json();
    await post('exchange', { code, app: 'sales' });
    assert.is((await post('introspect', { token: ticket }, as)).json().active, true);
    await logged.server.inject(`/launch/sales/?code=${code}`);
    const keys = await app.db().selectFrom('signing_keys').select('sealed_key').execute();
    const log = lines.join('');

    assert.match(log, '/launch/sales/');
    const sealed = keys.flatMap(({ sealed_key: key }) => [key.toString('hex'), key.toString('base64')]);
    for (const secret of [code, ticket, ticket.split('.')[2], ...sealed]) assert.not.ok(log.includes(secret));
  } finally {
    await logged.close();
  }
});

launch.run();
