import * as assert from 'uvu/assert';
import {
  createView,
  type Headers,
  LAUNCH_URL,
  openView,
  PERSON,
  setApp,
  viewOf,
  viewSuite,
} from '../support/access-views.ts';
import { ACME, ADA, GRACE } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const FRAME = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' };

const opening = viewSuite('opening an access view');

opening('leads to the app with a code, which a ticket of the view is exchanged for', async ({ app }) => {
  const { key } = await createView(app, {
    user: ADA,
    stack_slug: 'trends',
    data_permissions: { region: 'north' },
  });
  const response = await openView(app, key);

  assert.is(response.statusCode, 303, response.body);
  const location = new URL(String(response.headers.location));
  assert.is(location.origin + location.pathname, 'https://sales.example.com/start');
  assert.is(location.searchParams.get('from'), 'steward');
  assert.is(response.headers['referrer-policy'], 'no-referrer');
  assert.is(response.headers['cache-control'], 'no-store');

  const code = String(location.searchParams.get('code'));
  const { ticket } = await app.as(null).tickets.exchange({ code, app: 'sales' });
  const claims = JSON.parse(String(Buffer.from(String(ticket.split('.')[1]), 'base64url')));
  assert.equal([claims.email, claims.stack, claims.data_permissions], [ADA, 'trends', { region: 'north' }]);
});

opening('records a use, in the audit trail and the usage log too', async ({ app }) => {
  const {
    key,
    created: _,
    ...view
  } = await createView(app, { user: GRACE, stack_slug: 'trends', language_code: 'de' });
  const headers = { 'user-agent': `Mozilla ${'ü'.repeat(300)}` };
  assert.is((await openView(app, key, headers)).statusCode, 303);

  const [use, ...others] = await app.as(ACME).accessViews.uses({ key });
  assert.equal(others, []);
  assert.equal(use, {
    raw_key: key,
    data_permissions: {},
    selections: {},
    app_slug: 'sales',
    stack_slug: 'trends',
    user_email: GRACE,
    autorotate: false,
    show_header: view.show_header,
    show_footer: true,
    language_code: 'de',
    ip_address: '127.0.0.1',
    user_agent: `Mozilla ${'?'.repeat(300)}`.slice(0, 255),
    timestamp: app.clock.now(),
  });
  const [entry] = await app.as(ACME).audit.list({ action: 'access-view.use', limit: 1 });
  assert.equal([entry?.actor, entry?.target, entry?.details.user], [GRACE, 'sales', GRACE]);
  const { items } = await app.as(ACME).usage.list({ app_id: SALES, email: GRACE, limit: 1 });
  assert.equal(
    items.map(({ action, full_name, extra }) => [action, full_name, extra.stack]),
    [['STACK_ACCESS', 'Grace Hopper', 'b1b82f57']],
  );
  assert.not.match(JSON.stringify([entry, items]), new RegExp(key));
});

opening('records the use of a view without a user as of a guest', async ({ app }) => {
  const { key } = await createView(app);
  assert.is((await openView(app, key)).statusCode, 303);

  const { items } = await app.as(ACME).usage.list({ app_id: SALES, limit: 1, email: '' });
  assert.equal(
    items.map(({ email, full_name }) => [email, full_name]),
    [['', 'Guest']],
  );
  const [entry] = await app.as(ACME).audit.list({ action: 'access-view.use', limit: 1 });
  assert.is(entry?.actor, '');
});

opening('keeps an embed session in a partitioned cookie, no longer than the view', async ({ app }) => {
  const soon = new Date(app.clock.now().getTime() + 3_600_000);
  for (const [expires_at, seconds] of [
    [null, 12 * 3600],
    [soon, 3600],
  ] as const) {
    const { key } = await createView(app, { user: ADA, expires_at });
    const [cookie] = (await openView(app, key)).cookies;
    const { value, maxAge, ...attributes } = cookie ?? { value: '' };
    assert.equal(attributes, {
      name: '__Host-steward_embed_sales',
      path: '/',
      httpOnly: true,
      secure: true,
      sameSite: 'None',
      ...('partitioned' in attributes && { partitioned: true }),
    });
    assert.match(value, /^[\w-]{43}$/);
    assert.ok(Math.abs(Number(maxAge) - seconds) < 60, `${maxAge}`);
    const raw = String(
      (await app.db().selectFrom('embed_sessions').select('digest').execute()).at(-1)?.digest,
    );
    assert.match(raw, /^[0-9a-f]{64}$/);
  }
});

opening('sets the cookie with the attribute Partitioned', async ({ app }) => {
  const { key } = await createView(app);
  assert.match(
    String((await openView(app, key)).headers['set-cookie']),
    /; Secure; SameSite=None; Partitioned$|Partitioned/,
  );
});

opening('does not count HEAD, prefetches, previews and programs as uses', async ({ app }) => {
  const { key } = await createView(app);
  // A browser would use the empty response to a prefetch for the person's request, unless it is an error.
  const requests: [method: string, status: number, headers: Headers][] = [
    ['HEAD', 200, {}],
    ['GET', 403, { purpose: 'prefetch' }],
    ['GET', 403, { 'sec-purpose': 'prefetch' }],
    ['GET', 403, { 'sec-purpose': 'prefetch;prerender' }],
    ['GET', 403, { 'x-purpose': 'preview' }],
    ['GET', 403, { 'x-moz': 'prefetch' }],
    ['GET', 204, { 'sec-fetch-mode': 'no-cors' }],
    ['GET', 204, { 'sec-fetch-mode': 'cors' }],
    ['GET', 204, { 'user-agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' }],
    ['GET', 204, { 'user-agent': 'facebookexternalhit/1.1' }],
  ];
  for (const [method, status, headers] of requests)
    for (const sent of [key, 'f'.repeat(32)]) {
      const response = await app.send(`${method} !/v/${sent}/`, { headers: { ...PERSON, ...headers } });
      assert.equal([response.statusCode, response.body], [status, '']);
      assert.is(response.headers['set-cookie'], undefined);
    }
  assert.is((await viewOf(app, key)).usages_cnt, 0);
  assert.is((await openView(app, key, FRAME)).statusCode, 303);
});

opening('tells a program that accepts no pages why it does not open, for any key', async ({ app }) => {
  const { key } = await createView(app);
  for (const accept of ['*/*', 'application/json', undefined])
    for (const sent of [key, 'f'.repeat(32)]) {
      const response = await app.send(`GET !/v/${sent}/`, { headers: { ...PERSON, accept } });
      assert.is(response.statusCode, 406);
      assert.is(response.headers['cache-control'], 'no-store');
      assert.match(response.json().detail, 'send `Accept: text/html`. The app was not opened');
    }
  assert.is((await viewOf(app, key)).usages_cnt, 0);
  assert.is((await openView(app, key)).statusCode, 303);
});

opening('takes a browser on a phone of the brand Cubot for a person', async ({ app }) => {
  for (const model of ['CUBOT P40', 'CUBOT_X19']) {
    const { key } = await createView(app);
    const headers = {
      'user-agent': `Mozilla/5.0 (Linux; Android 10; ${model}) AppleWebKit/537.36 Chrome/131`,
    };
    assert.is((await openView(app, key, headers)).statusCode, 303, model);
  }
});

opening('encodes what headers cannot carry', async ({ app }) => {
  const launch = async (launch_url: string) => {
    await setApp(app, { launch_url });
    const { key } = await createView(app);
    return String((await openView(app, key)).headers.location);
  };
  const injected = await launch('https://sales.example.com/a\r\nset-cookie: x=1/ü?q=\n\tz#frag');
  assert.match(injected, /^https:\/\/sales\.example\.com\/[\x21-\x7e]*\?[\x21-\x7e]*code=[\w-]{43}#frag$/);
  await setApp(app, { launch_url: LAUNCH_URL });
});

opening('says that an app without an address cannot be opened yet, which is not a use', async ({ app }) => {
  await setApp(app, { launch_url: '' });
  const { key } = await createView(app);
  const { statusCode, body } = await openView(app, key);
  await setApp(app, { launch_url: LAUNCH_URL });

  assert.is(statusCode, 404);
  assert.match(body, 'Sales cannot be opened yet');
  assert.is((await openView(app, key)).statusCode, 303);
});

opening('admits exactly one of 100 parallel opens of a view for one use', async ({ app }) => {
  const { key } = await createView(app, { user: ADA });
  const responses = await Promise.all(Array.from({ length: 100 }, () => openView(app, key)));

  const statuses = responses.map(({ statusCode }) => statusCode);
  assert.is(statuses.filter((status) => status === 303).length, 1);
  assert.is(statuses.filter((status) => status === 410).length, 99);
  assert.is((await app.as(ACME).accessViews.uses({ key })).length, 1);
  assert.is((await viewOf(app, key)).usages_cnt, 1);
});

opening('gives a rotating view one new key for each of 50 parallel openers', async ({ app }) => {
  const { key: first } = await createView(app, { autorotate: true, allowed_uses_cnt: 0, flags: { race: 1 } });
  const rows = () => app.as(ACME).accessViews.list({ flags: { race: '1' } });
  const openOnce = async (): Promise<string> => {
    for (;;) {
      const key = String((await rows())[0]?.key);
      const { statusCode } = await openView(app, key);
      if (statusCode === 303) return key;
      // Another opener used this key in the meantime, after it was found or before.
      assert.ok(statusCode === 410 || statusCode === 404, `${statusCode}`);
      await app.db().deleteFrom('rate_limits').execute();
    }
  };
  const used = await Promise.all(Array.from({ length: 50 }, openOnce));

  assert.is(new Set(used).size, 50);
  const [view, ...others] = await rows();
  assert.equal(others, []);
  assert.is(view?.usages_cnt, 50);
  const uses = await app.as(ACME).accessViews.uses({ key: String(view?.key) });
  assert.equal(uses.map((use) => use.raw_key).sort(), used.sort());
  assert.ok(used.includes(first));
  for (const key of used) assert.is((await openView(app, key)).statusCode, 404);
  await app.db().deleteFrom('rate_limits').execute();
  assert.is((await openView(app, String(view?.key))).statusCode, 303);
});

opening.run();
