import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { endpointOf } from '../../src/http/rest/endpoints.ts';
import { appSuite } from '../support/app-suite.ts';
import { createScript } from '../support/cookie-jar.ts';
import { rejectsWith } from '../support/rejects-with.ts';
import { ACME, ADA, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const BASE = 'https://steward.test';
const opening = appSuite('opening an access view', { BASE_URL: BASE });

const PERSON = { accept: 'text/html,application/xhtml+xml', 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' };
type Headers = Record<string, string | undefined>;

const open = (app: TestApp, key: string, headers: Headers = {}) =>
  app.send(`GET !/v/${key}/`, { headers: { ...PERSON, ...headers } });

type NewView = Parameters<ReturnType<TestApp['as']>['accessViews']['create']>[0];
const create = (app: TestApp, input: NewView = {}) =>
  app.as(ACME).accessViews.create({ app: 'sales', ...input });
const viewOf = (app: TestApp, key: string) => app.as(ACME).accessViews.get({ key });

opening.before(async ({ app }) => {
  const launch = { launch_url: 'https://sales.example.com/start?from=steward' };
  await app.db().updateTable('apps').set(launch).where('id', '=', SALES).execute();
});

opening('leads to the app with a code, which a ticket of the view is exchanged for', async ({ app }) => {
  const { key } = await create(app, {
    user: ADA,
    stack_slug: 'trends',
    data_permissions: { region: 'north' },
  });
  const response = await open(app, key);

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
  } = await create(app, { user: GRACE, stack_slug: 'trends', language_code: 'de' });
  const headers = { 'user-agent': `Mozilla ${'ü'.repeat(300)}` };
  assert.is((await open(app, key, headers)).statusCode, 303);

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
  const { key } = await create(app);
  assert.is((await open(app, key)).statusCode, 303);

  const { items } = await app.as(ACME).usage.list({ app_id: SALES, limit: 1, email: '' });
  assert.equal(
    items.map(({ email, full_name }) => [email, full_name]),
    [['', 'Guest']],
  );
  const [entry] = await app.as(ACME).audit.list({ action: 'access-view.use', limit: 1 });
  assert.is(entry?.actor, '');
});

opening('keeps an embed session in a partitioned cookie, no longer than the view', async ({ app }) => {
  const soon = new Date(Date.now() + 3_600_000);
  for (const [expires_at, seconds] of [
    [null, 12 * 3600],
    [soon, 3600],
  ] as const) {
    const { key } = await create(app, { user: ADA, expires_at });
    const [cookie] = (await open(app, key)).cookies;
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
  const { key } = await create(app);
  assert.match(
    String((await open(app, key)).headers['set-cookie']),
    /; Secure; SameSite=None; Partitioned$|Partitioned/,
  );
});

opening('does not count HEAD, prefetches, previews and programs as uses', async ({ app }) => {
  const { key } = await create(app);
  const requests: [method: string, headers: Headers][] = [
    ['HEAD', {}],
    ['GET', { purpose: 'prefetch' }],
    ['GET', { 'sec-purpose': 'prefetch;prerender' }],
    ['GET', { 'x-purpose': 'preview' }],
    ['GET', { 'x-moz': 'prefetch' }],
    ['GET', { 'sec-fetch-mode': 'no-cors' }],
    ['GET', { 'sec-fetch-mode': 'cors' }],
    ['GET', { accept: '*/*' }],
    ['GET', { accept: undefined }],
    ['GET', { 'user-agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' }],
    ['GET', { 'user-agent': 'facebookexternalhit/1.1' }],
  ];
  for (const [method, headers] of requests)
    for (const sent of [key, 'f'.repeat(32)]) {
      const response = await app.send(`${method} !/v/${sent}/`, { headers: { ...PERSON, ...headers } });
      assert.equal([response.statusCode, response.body], [method === 'HEAD' ? 200 : 204, '']);
      assert.is(response.headers['set-cookie'], undefined);
    }
  assert.is((await viewOf(app, key)).usages_cnt, 0);
  for (const headers of [{ 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }])
    assert.is((await open(app, key, headers)).statusCode, 303);
});

opening('says why a view does not open the app', async ({ app }) => {
  const at = async (input: NewView, status: number, text: RegExp) => {
    const { key } = await create(app, { allowed_uses_cnt: 0, ...input });
    const response = await open(app, key);
    assert.is(response.statusCode, status, response.body);
    assert.match(response.body, text);
    assert.match(response.body, /Acme Analytics/);
    assert.is(response.headers['set-cookie'], undefined);
    assert.is((await viewOf(app, key)).usages_cnt, 0);
  };
  await at({ is_active: false }, 410, /This link was revoked/);
  await at({ expires_at: new Date('2020-02-01T10:00:00Z') }, 410, /1 February 2020 at 10:00 UTC/);
  await at({ allowed_networks: '192.0.2.0/24' }, 403, /does not work in your network/);
  const root = app.as(ROOT);
  await app.as(ACME).apps.update({
    app_id: SALES,
    in_maintenance: true,
    maintenance_message: 'Back <b>soon</b><script>x</script>',
  });
  await at({ user: ADA }, 503, /Sales is in maintenance[\s\S]*Back <b>soon<\/b></);
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: false, maintenance_message: '' });
  await root.clients.updateGate({ id: 1, is_open: false });
  await at({}, 403, /This app is closed/);
  await root.clients.updateGate({ id: 1, is_open: true });
});

opening('refuses a view whose user was deactivated, or lost the app', async ({ app }) => {
  const root = app.as(ROOT);
  const { key } = await create(app, { user: GRACE, allowed_uses_cnt: 0 });

  await root.users.update({ email: GRACE, is_active: false });
  assert.match((await open(app, key)).body, /Its user no longer has access to Sales/);
  await root.users.update({ email: GRACE, is_active: true, apps: [] });
  assert.is((await open(app, key)).statusCode, 403);
  await root.users.update({ email: GRACE, apps: [SALES] });
  assert.is((await open(app, key)).statusCode, 303);
  assert.is((await viewOf(app, key)).usages_cnt, 1);
});

opening(
  'refuses a view whose user became a superuser, unless a superuser made it for one',
  async ({ app }) => {
    const root = app.as(ROOT);
    const byAdmin = await create(app, { user: GRACE, allowed_uses_cnt: 0 });
    const input = { app: 'sales', user: GRACE, allowed_uses_cnt: 0 };
    // Client admins know its key, as that of their own.
    const ofMember = await root.accessViews.create(input);
    await root.roles.update({ email: GRACE, is_staff: true });
    const bySuperuser = await root.accessViews.create(input);
    await root.roles.update({ email: GRACE, is_staff: false });
    const statuses = async () => [
      (await open(app, byAdmin.key)).statusCode,
      (await open(app, ofMember.key)).statusCode,
      (await open(app, bySuperuser.key)).statusCode,
    ];

    for (const role of ['is_superuser', 'is_staff'] as const) {
      const location = new URL(String((await open(app, byAdmin.key)).headers.location));
      const code = String(location.searchParams.get('code'));
      await root.roles.update({ email: GRACE, [role]: true });
      assert.equal(await statuses(), [403, 403, 303], role);
      await rejectsWith(app.as(null).tickets.exchange({ code, app: 'sales' }), 'invalid-launch-code');
      await root.roles.update({ email: GRACE, [role]: false });
      assert.equal(await statuses(), [303, 303, 303]);
    }
  },
);

opening('expires by the clock of the database', async ({ app }) => {
  const { key } = await create(app, { allowed_uses_cnt: 0 });
  const expireIn = (seconds: number) =>
    app
      .db()
      .updateTable('access_views')
      .set({ expires_at: sql`clock_timestamp() + ${seconds}::int * interval '1 second'` })
      .where('key', '=', key)
      .execute();

  await expireIn(60);
  assert.is((await open(app, key)).statusCode, 303);
  await expireIn(-1);
  assert.is((await open(app, key)).statusCode, 410);
});

opening('admits exactly one of 100 parallel opens of a view for one use', async ({ app }) => {
  const { key } = await create(app, { user: ADA });
  const responses = await Promise.all(Array.from({ length: 100 }, () => open(app, key)));

  const statuses = responses.map(({ statusCode }) => statusCode);
  assert.is(statuses.filter((status) => status === 303).length, 1);
  assert.is(statuses.filter((status) => status === 410).length, 99);
  assert.is((await app.as(ACME).accessViews.uses({ key })).length, 1);
  assert.is((await viewOf(app, key)).usages_cnt, 1);
});

opening('gives a rotating view one new key for each of 50 parallel openers', async ({ app }) => {
  const { key: first } = await create(app, { autorotate: true, allowed_uses_cnt: 0, flags: { race: 1 } });
  const rows = () => app.as(ACME).accessViews.list({ flags: { race: '1' } });
  const openOnce = async (): Promise<string> => {
    for (;;) {
      const key = String((await rows())[0]?.key);
      const { statusCode } = await open(app, key);
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
  for (const key of used) assert.is((await open(app, key)).statusCode, 404);
  await app.db().deleteFrom('rate_limits').execute();
  assert.is((await open(app, String(view?.key))).statusCode, 303);
});

opening('shows the page for a refusal in frames of the sites of the client', async ({ app }) => {
  const { key } = await create(app, { is_active: false });
  const policyOf = async () => String((await open(app, key)).headers['content-security-policy']);

  assert.match(await policyOf(), /frame-ancestors 'none'/);
  assert.is((await open(app, key)).headers['x-frame-options'], 'DENY');
  const embed_origins = ['https://portal.example.com', 'https://other.example.com:8443'];
  await app.as(ROOT).clients.updateGate({ id: 1, embed_origins });
  assert.match(
    await policyOf(),
    /frame-ancestors https:\/\/portal\.example\.com https:\/\/other\.example\.com:8443;/,
  );
  assert.is((await open(app, key)).headers['x-frame-options'], undefined);
  assert.match(String((await open(app, 'f'.repeat(32))).headers['content-security-policy']), /'none'/);
  await app.as(ROOT).clients.updateGate({ id: 1, embed_origins: [] });
});

opening('encodes what headers cannot carry', async ({ app }) => {
  const launch = async (launch_url: string) => {
    await app.db().updateTable('apps').set({ launch_url }).where('id', '=', SALES).execute();
    const { key } = await create(app);
    return String((await open(app, key)).headers.location);
  };
  const injected = await launch('https://sales.example.com/a\r\nset-cookie: x=1/ü?q=\n\tz#frag');
  assert.match(injected, /^https:\/\/sales\.example\.com\/[\x21-\x7e]*\?[\x21-\x7e]*code=[\w-]{43}#frag$/);
  assert.is(await launch(''), `/api/v1/jb/apps/${SALES}/`, 'of APP_URL, without a code');
  await launch('https://sales.example.com/start?from=steward');
});

opening(
  'answers unknown keys alike, also malformed ones, and throttles their guesses by network',
  async ({ app }) => {
    await app.db().deleteFrom('rate_limits').execute();
    const unknown = ['f'.repeat(32), 'x', '%00', "'", 'é'.repeat(200)];
    const bodies = new Set<string>();
    for (const key of unknown) {
      const response = await open(app, encodeURIComponent(key).replace('%2500', '%00'));
      assert.is(response.statusCode, 404, key);
      bodies.add(response.body);
    }
    assert.is(bodies.size, 1);
    const { key } = await create(app);
    const guesses = await Promise.all(Array.from({ length: 100 }, () => open(app, 'f'.repeat(32))));
    assert.ok(guesses.some(({ statusCode }) => statusCode === 404));
    const blocked = await open(app, 'e'.repeat(32));
    assert.is(blocked.statusCode, 429);
    assert.ok(Number(blocked.headers['retry-after']) > 0);
    assert.is((await open(app, key)).statusCode, 303);
  },
);

opening('embeds an app once, for a user', async ({ app }) => {
  for (const path of [`/jb/apps/${SALES}/embed/${ADA}/`, `!/api/v2/embed/sales/${ADA}/`]) {
    const embedded = await app.send(`GET ${path}`, { as: ACME });
    assert.is(embedded.statusCode, 200);
    const { url, ...rest } = embedded.json();
    assert.equal(rest, {});
    const key = String(/^https:\/\/steward\.test\/v\/([0-9a-f]{32})\/$/.exec(url)?.[1]);
    assert.is(
      (await app.as(ACME).accessViews.list({})).some((view) => view.key === key),
      false,
    );
    const first = await open(app, key);
    assert.is(first.statusCode, 303);
    assert.ok(Number(first.cookies[0]?.maxAge) > 11 * 3600, 'what it opened outlasts the link');
    assert.match((await open(app, key)).body, /This link was already used/);
    const [created] = await app.as(ACME).audit.list({ action: 'access-view.create', limit: 1 });
    assert.equal([created?.actor, created?.details.user, created?.details.is_one_time], [ACME, ADA, true]);
    const late = (await app.send(`GET ${path}`, { as: ACME })).json().url.slice(-33, -1);
    const set = { expires_at: sql<Date>`expires_at - interval '60 seconds'` };
    await app.db().updateTable('access_views').set(set).where('key', '=', late).execute();
    assert.match((await open(app, late)).body, /This link has expired/);
  }
  assert.is(endpointOf('accessViews.embed').method, 'GET');
});

opening('embeds with an API token only, as a GET of a browser has no CSRF protection', async ({ app }) => {
  const script = createScript(app);
  await script.logIn(ACME, DEMO_PASSWORD);
  const count = async () => (await app.db().selectFrom('access_views').select('id').execute()).length;
  const before = await count();

  for (const path of [`!/api/v2/embed/sales/${ADA}/`, `/jb/apps/sales/embed/${ADA}/`]) {
    const response = await script.send(`GET ${path}`);
    assert.is(response.statusCode, 403);
    assert.is(response.json().detail, 'This needs an API token, not a browser session.');
  }
  assert.is(await count(), before);
});

opening('embeds only apps that the caller manages, for users who can open them', async ({ app }) => {
  const status = async (slug: string, email: string, as: string) =>
    (await app.send(`GET !/api/v2/embed/${slug}/${email}/`, { as })).statusCode;

  assert.is(await status('fleet', ADA, ACME), 404);
  assert.is(await status('nothing', ADA, ACME), 404);
  assert.is(await status('sales', 'unknown@acme.test', ACME), 404);
  assert.is(await status('churn', GRACE, ACME), 403);
  assert.is(await status('sales', ADA, ADA), 403);
  assert.is(await status('sales', ADA, 'staff@steward.test'), 403);
});

opening.run();
