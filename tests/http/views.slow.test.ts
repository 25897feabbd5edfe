import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { endpointOf } from '../../src/http/rest/endpoints.ts';
import {
  createView,
  type Headers,
  LAUNCH_URL,
  type NewView,
  openView,
  PERSON,
  setApp,
  userId,
  viewOf,
  viewSuite,
} from '../support/access-views.ts';
import { createScript } from '../support/http-clients.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, DEMO_PASSWORD, EDSGER, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { NOON, until } from '../support/time.ts';
import { SALES } from '../support/usage.ts';

const views = viewSuite('opening an access view');

const FRAME = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' };

views('leads to the app with a code, which a ticket of the view is exchanged for', async ({ app }) => {
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

views('records a use, in the audit trail and the usage log too', async ({ app }) => {
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
  assert.equal(
    [entry?.actor, entry?.target, entry?.details.user],
    [GRACE, 'sales', await userId(app, GRACE)],
  );
  const { items } = await app.as(ACME).usage.list({ app_id: SALES, email: GRACE, limit: 1 });
  assert.equal(
    items.map(({ action, full_name, extra }) => [action, full_name, extra.stack]),
    [['STACK_ACCESS', 'Grace Hopper', 'b1b82f57']],
  );
  assert.not.match(JSON.stringify([entry, items]), new RegExp(key));
});

views('records the use of a view without a user as of a guest', async ({ app }) => {
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

views('keeps an embed session in a partitioned cookie, no longer than the view', async ({ app }) => {
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

views('whose uses are counted asks before it opens, but not in a frame', async ({ app }) => {
  const { key } = await createView(app, { user: ADA, allowed_uses_cnt: 2 });
  const follow = (headers: Headers = {}) =>
    app.send(`GET !/v/${key}/`, { headers: { ...PERSON, 'sec-fetch-mode': 'navigate', ...headers } });
  const asked = await follow({ 'sec-fetch-dest': 'document' });

  assert.is(asked.statusCode, 200);
  assert.match(asked.body, 'This link of Acme Analytics can be opened 2 times.');
  assert.match(asked.body, `<form method="post" action="/v/${key}/"><button>Open Sales</button></form>`);
  assert.is(asked.headers['set-cookie'], undefined);
  assert.is((await viewOf(app, key)).usages_cnt, 0);

  assert.is((await openView(app, key)).statusCode, 303);
  assert.is((await follow(FRAME)).statusCode, 303);
  assert.match((await follow()).body, 'This link was already used');
  assert.is((await viewOf(app, key)).usages_cnt, 2);
});

views('without a limit, and one for a platform, open at once', async ({ app }) => {
  const { key } = await createView(app, { allowed_uses_cnt: 0 });
  const { url } = await app.as(ACME).accessViews.embed({ app: 'sales', email: ADA });
  for (const path of [`/v/${key}/`, new URL(url).pathname])
    assert.is((await app.send(`GET !${path}`, { headers: PERSON })).statusCode, 303);
});

views('does not count HEAD, prefetches, previews and programs as uses', async ({ app }) => {
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

views('tells a program that accepts no pages why it does not open, for any key', async ({ app }) => {
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

views('encodes what headers cannot carry', async ({ app }) => {
  const launch = async (launch_url: string) => {
    await setApp(app, { launch_url });
    const { key } = await createView(app);
    return String((await openView(app, key)).headers.location);
  };
  const injected = await launch('https://sales.example.com/a\r\nset-cookie: x=1/ü?q=\n\tz#frag');
  assert.match(injected, /^https:\/\/sales\.example\.com\/[\x21-\x7e]*\?[\x21-\x7e]*code=[\w-]{43}#frag$/);
  await setApp(app, { launch_url: LAUNCH_URL });
});

views('says that an app without an address cannot be opened yet, which is not a use', async ({ app }) => {
  await setApp(app, { launch_url: '' });
  const { key } = await createView(app);
  const { statusCode, body } = await openView(app, key);
  await setApp(app, { launch_url: LAUNCH_URL });

  assert.is(statusCode, 404);
  assert.match(body, 'Sales cannot be opened yet');
  assert.is((await openView(app, key)).statusCode, 303);
});

views('opens the app for a second click in the same browser, which is no second use', async ({ app }) => {
  const { key } = await createView(app, { user: ADA });
  const clicks = await Promise.all([openView(app, key), openView(app, key)]);
  const codes = clicks.map(({ headers }) => new URL(String(headers.location)).searchParams.get('code'));

  assert.is(new Set(codes).size, 2);
  for (const code of codes) await app.as(null).tickets.exchange({ code: String(code), app: 'sales' });
  assert.is((await viewOf(app, key)).usages_cnt, 1);
  assert.is((await openView(app, key, { 'user-agent': 'Mozilla/5.0 (another)' })).statusCode, 410);
  app.clock.advance(5_000);
  assert.is((await openView(app, key)).statusCode, 410);
});

views('admits exactly one of ten parallel opens of a view for one use', async ({ app }) => {
  const { key } = await createView(app, { user: ADA });
  const openIn = (browser: number) => openView(app, key, { 'user-agent': `Mozilla/5.0 (${browser})` });
  const responses = await Promise.all(Array.from({ length: 10 }, (_, browser) => openIn(browser)));

  const statuses = responses.map(({ statusCode }) => statusCode);
  assert.is(statuses.filter((status) => status === 303).length, 1);
  assert.is(statuses.filter((status) => status === 410).length, 9);
  assert.is((await app.as(ACME).accessViews.uses({ key })).length, 1);
  assert.is((await viewOf(app, key)).usages_cnt, 1);
});

views('gives a rotating view a new key for one of five parallel openers', async ({ app }) => {
  const created = await createView(app, { autorotate: true, allowed_uses_cnt: 0, flags: { race: 1 } });
  const used: string[] = [];
  let { key } = created;
  for (let round = 0; round < 3; round += 1) {
    const responses = await Promise.all(
      Array.from({ length: 5 }, (_, browser) =>
        openView(app, key, { 'user-agent': `Mozilla/5.0 (${browser})` }),
      ),
    );
    assert.is(responses.filter(({ statusCode }) => statusCode === 303).length, 1);
    used.push(key);
    const [view, ...others] = await app.as(ACME).accessViews.list({ flags: { race: '1' } });
    assert.equal([others, view?.usages_cnt], [[], used.length]);
    key = String(view?.key);
  }
  const uses = await app.as(ACME).accessViews.uses({ key });
  assert.equal(uses.map((use) => use.raw_key).sort(), used.toSorted());
  assert.is(new Set([...used, key]).size, 4);
  assert.is((await openView(app, key)).statusCode, 303);
});

views('says why a view does not open the app', async ({ app }) => {
  const at = async (input: NewView, status: number, text: RegExp) => {
    const { key } = await createView(app, { allowed_uses_cnt: 0, ...input });
    const response = await openView(app, key);
    assert.is(response.statusCode, status, response.body);
    assert.match(response.body, text);
    assert.match(response.body, /Acme Analytics/);
    assert.is(response.headers['set-cookie'], undefined);
    assert.is((await viewOf(app, key)).usages_cnt, 0);
  };
  await at({ is_active: false }, 410, /This link was revoked/);
  await at({ expires_at: new Date('2020-02-01T10:00:00Z') }, 410, /1 Feb 2020, 10:00 UTC/);
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

views('has the branding of the client of the app, whatever the host', async ({ app }) => {
  const { key } = await app.as(GLOBEX).accessViews.create({ app: 'fleet', is_active: false });
  const { body } = await app.send(`GET !/v/${key}/`, {
    headers: { accept: 'text/html', host: 'localhost:8000' },
  });

  assert.match(body, /<title>This link was revoked – Globex Data<\/title>/);
  assert.not.match(body, /Acme/);
});

views('refuses a view whose user became a superuser, unless a superuser made it for one', async ({ app }) => {
  const root = app.as(ROOT);
  const byAdmin = await createView(app, { user: GRACE, allowed_uses_cnt: 0 });
  const input = { app: 'sales', user: GRACE, allowed_uses_cnt: 0 };
  // Client admins know its key too: its user was a member.
  const ofMember = await root.accessViews.create(input);
  await root.roles.update({ email: GRACE, is_staff: true });
  const bySuperuser = await root.accessViews.create(input);
  await root.roles.update({ email: GRACE, is_staff: false });
  const statuses = async () => [
    (await openView(app, byAdmin.key)).statusCode,
    (await openView(app, ofMember.key)).statusCode,
    (await openView(app, bySuperuser.key)).statusCode,
  ];

  for (const role of ['is_superuser', 'is_staff'] as const) {
    const location = new URL(String((await openView(app, byAdmin.key)).headers.location));
    const code = String(location.searchParams.get('code'));
    await root.roles.update({ email: GRACE, [role]: true });
    assert.equal(await statuses(), [403, 403, 303], role);
    await rejectsWith(app.as(null).tickets.exchange({ code, app: 'sales' }), 'invalid-launch-code');
    await root.roles.update({ email: GRACE, [role]: false });
    assert.equal(await statuses(), [303, 303, 303]);
  }
});

views('expires by the clock of the database', async ({ app }) => {
  const { key } = await createView(app, { allowed_uses_cnt: 0 });
  const expireIn = (seconds: number) =>
    app
      .db()
      .updateTable('access_views')
      .set({ expires_at: new Date(app.clock.now().getTime() + seconds * 1000) })
      .where('key', '=', key)
      .execute();

  await expireIn(60);
  assert.is((await openView(app, key)).statusCode, 303);
  await expireIn(-1);
  assert.is((await openView(app, key)).statusCode, 410);
});

views('shows the page for a refusal in frames of the sites of the client', async ({ app }) => {
  const { key } = await createView(app, { is_active: false });
  const policyOf = async () => String((await openView(app, key)).headers['content-security-policy']);

  assert.match(await policyOf(), /frame-ancestors 'none'/);
  assert.is((await openView(app, key)).headers['x-frame-options'], 'DENY');
  const embed_origins = ['https://portal.example.com', 'https://other.example.com:8443'];
  await app.as(ROOT).clients.updateGate({ id: 1, embed_origins });
  assert.match(
    await policyOf(),
    /frame-ancestors https:\/\/portal\.example\.com https:\/\/other\.example\.com:8443;/,
  );
  assert.is((await openView(app, key)).headers['x-frame-options'], undefined);
  assert.match(String((await openView(app, 'f'.repeat(32))).headers['content-security-policy']), /'none'/);
  await app.as(ROOT).clients.updateGate({ id: 1, embed_origins: [] });
});

views('answers unknown keys alike, also malformed ones', async ({ app }) => {
  const bodies = new Set<string>();
  for (const key of ['f'.repeat(32), 'x', '%00', "'", 'é'.repeat(200)]) {
    const response = await openView(app, encodeURIComponent(key).replace('%2500', '%00'));
    assert.is(response.statusCode, 404, key);
    bodies.add(response.body);
  }

  assert.is(bodies.size, 1);
});

views('limits the uses of an unlimited view from one network', async ({ app }) => {
  const { key, id } = await createView(app, { allowed_uses_cnt: 0 });
  assert.is((await openView(app, key)).statusCode, 303);
  const counted = app.db().updateTable('rate_limits').where('key', 'like', `%:view:${id}`);

  await counted.set({ points: 999 }).execute();
  assert.is((await openView(app, key)).statusCode, 303);
  const refused = await openView(app, key);
  assert.is(refused.statusCode, 429);
  assert.ok(Number(refused.headers['retry-after']) > 0);
  assert.is((await viewOf(app, key)).usages_cnt, 2);
  const other = await createView(app, { allowed_uses_cnt: 0 });
  assert.is((await openView(app, other.key)).statusCode, 303);
  await counted.set({ points: 0 }).execute();
  assert.is((await openView(app, key)).statusCode, 303);
});

const isWaiting = async (app: TestApp): Promise<boolean> => {
  const { rows } = await sql`
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(app.db());
  return rows.length > 0;
};

type Tx = ReturnType<TestApp['db']>;

/** Opens a view after a transaction has changed something, which commits only when the request waits for its lock. */
const openDuring = async (app: TestApp, key: string, change: (tx: Tx) => Promise<unknown>) => {
  const { opened } = await app
    .db()
    .transaction()
    .execute(async (tx) => {
      await change(tx);
      let isDone = false;
      const opened = openView(app, key).finally(() => {
        isDone = true;
      });
      await until('the request waits, or is answered', async () => isDone || (await isWaiting(app)));
      return { opened };
    });
  return (await opened).statusCode;
};

const CHANGES = {
  'is revoked': { set: { is_active: false }, status: 410 },
  expires: { set: { expires_at: NOON }, status: 410 },
  'is used up': { set: { allowed_uses: 1, uses: 1 }, status: 410 },
  'gets another key': { set: { key: 'another' }, status: 410 },
  'is limited to other networks': { set: { allowed_networks: ['192.0.2.0/24'] }, status: 403 },
};

for (const [what, { set, status }] of Object.entries(CHANGES))
  views(`is refused if the view ${what} at the same time`, async ({ app }) => {
    const { key, id } = await createView(app, { allowed_uses_cnt: 0 });
    const change = (tx: Tx) => tx.updateTable('access_views').set(set).where('id', '=', id).execute();

    assert.is(await openDuring(app, key, change), status);
    const uses = await app.db().selectFrom('access_view_uses').select('id').where('access_view_id', '=', id);
    assert.equal(await uses.execute(), []);
  });

views('is refused if its user is deactivated at the same time', async ({ app }) => {
  const { key } = await createView(app, { user: GRACE });
  const setActive = (tx: Tx, is_active: boolean) =>
    tx.updateTable('users').set({ is_active }).where('email', '=', GRACE).execute();

  assert.is(await openDuring(app, key, (tx) => setActive(tx, false)), 403);
  assert.is((await viewOf(app, key)).usages_cnt, 0);
  await setActive(app.db(), true);
});

views('embeds an app once, for a user', async ({ app }) => {
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
    const first = await openView(app, key);
    assert.is(first.statusCode, 303);
    assert.ok(Number(first.cookies[0]?.maxAge) > 11 * 3600, 'what it opened outlasts the link');
    assert.match((await openView(app, key)).body, /This link was already used/);
    const [created] = await app.as(ACME).audit.list({ action: 'access-view.create', limit: 1 });
    const { user, is_one_time } = created?.details ?? {};
    assert.equal([created?.actor, user, is_one_time], [ACME, await userId(app, ADA), true]);
    const late = (await app.send(`GET ${path}`, { as: ACME })).json().url.slice(-33, -1);
    const set = { expires_at: sql<Date>`expires_at - interval '60 seconds'` };
    await app.db().updateTable('access_views').set(set).where('key', '=', late).execute();
    assert.match((await openView(app, late)).body, /This link has expired/);
  }
  assert.is(endpointOf('accessViews.embed').method, 'GET');
});

views('embeds with an API token only, as a GET of a browser has no CSRF protection', async ({ app }) => {
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

views('embeds only apps that the caller manages, for users who can open them', async ({ app }) => {
  const status = async (slug: string, email: string, as: string) =>
    (await app.send(`GET !/api/v2/embed/${slug}/${email}/`, { as })).statusCode;

  assert.is(await status('fleet', ADA, ACME), 404);
  assert.is(await status('nothing', ADA, ACME), 404);
  assert.is(await status('sales', 'unknown@acme.test', ACME), 404);
  assert.is(await status('churn', GRACE, ACME), 403);
  assert.is(await status('sales', ADA, ADA), 403);
  assert.is(await status('sales', ADA, 'staff@steward.test'), 403);
  // An administrator of another client, who can open the app.
  await app.as(ROOT).users.update({ email: EDSGER, apps: [SALES] });
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: EDSGER, is_admin: true });
  assert.is(await status('sales', EDSGER, EDSGER), 403);
});

views.run();
