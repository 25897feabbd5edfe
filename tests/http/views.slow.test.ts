import * as assert from 'uvu/assert';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import {
  claimsIn,
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
import { isWaiting } from '../support/database-sessions.ts';
import { loggedIn } from '../support/logins.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, rowsOf, setRows } from '../support/rows.ts';
import { ACME, ADA, EDSGER, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON, until } from '../support/time.ts';
import { SALES } from '../support/usage.ts';

const views = viewSuite('opening an access view');

const codeIn = ({ headers }: { headers: { location?: string | undefined } }) =>
  String(new URL(String(headers.location)).searchParams.get('code'));
const FRAME = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' };

views('leads to the app with a code, which a ticket of the view is exchanged for', async ({ app }) => {
  const view = { user: ADA, stack_slug: 'trends', data_permissions: { region: 'north' } };
  const response = await openView(app, (await createView(app, view)).key);

  assert.is(response.statusCode, 303, response.body);
  const location = new URL(String(response.headers.location));
  assert.is(location.origin + location.pathname, 'https://sales.example.com/start');
  assert.is(location.searchParams.get('from'), 'steward');
  assert.is(response.headers['referrer-policy'], 'no-referrer');
  assert.is(response.headers['cache-control'], 'no-store');

  const code = String(location.searchParams.get('code'));
  const { email, stack, data_permissions } = claimsIn(
    (await app.as(null).tickets.exchange({ code, app: 'sales' })).ticket,
  );
  assert.equal({ user: email, stack_slug: stack, data_permissions }, view);
});

views('records a use, in the audit trail and the usage log too', async ({ app }) => {
  const { key } = await createView(app, { user: GRACE, stack_slug: 'trends', language_code: 'de' });
  const headers = { 'user-agent': `Mozilla ${'ü'.repeat(300)}` };
  assert.is((await openView(app, key, headers)).statusCode, 303);

  const uses = await app.as(ACME).accessViews.uses({ key });
  assert.equal(uses, [
    {
      raw_key: key,
      data_permissions: {},
      selections: {},
      app_slug: 'sales',
      stack_slug: 'trends',
      user_email: GRACE,
      autorotate: false,
      show_header: true,
      show_footer: true,
      language_code: 'de',
      ip_address: '127.0.0.1',
      user_agent: `Mozilla ${'?'.repeat(300)}`.slice(0, 255),
      timestamp: app.clock.now(),
      id: uses[0]?.id,
    },
  ]);
  const [entry] = await app.as(ACME).audit.list({ action: 'access-view.use', limit: 1 });
  const { actor, target, details } = entry ?? {};
  assert.equal([actor, target, details?.user], [GRACE, 'sales', await userId(app, GRACE)]);
  const { items } = await app.as(ACME).usage.list({ app_id: SALES, email: GRACE, limit: 1 });
  const { action, full_name, extra } = items[0] ?? {};
  assert.equal([action, full_name, extra?.stack], ['STACK_ACCESS', 'Grace Hopper', 'b1b82f57']);
  assert.not.match(JSON.stringify([entry, items]), new RegExp(key));
});

views('records the use of a view without a user as of a guest', async ({ app }) => {
  assert.is((await openView(app, (await createView(app)).key)).statusCode, 303);

  const { items } = await app.as(ACME).usage.list({ app_id: SALES, limit: 1, email: '' });
  assert.equal([items[0]?.email, items[0]?.full_name], ['', 'Guest']);
  assert.is((await app.as(ACME).audit.list({ action: 'access-view.use', limit: 1 }))[0]?.actor, '');
});

views('keeps an embed session in a partitioned cookie, no longer than the view', async ({ app }) => {
  for (const [lifeMs, seconds] of [
    [null, 12 * 3600],
    [3_600_000, 3600],
  ] as const) {
    const expires_at = lifeMs === null ? null : new Date(app.clock.now().getTime() + lifeMs);
    const [cookie] = (await openView(app, (await createView(app, { user: ADA, expires_at })).key)).cookies;
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
    assert.is((await rowsOf(app, 'embed_sessions', { digest: tokenDigest(value) })).length, 1);
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
    ['GET', 406, { accept: '*/*' }],
    ['GET', 406, { accept: 'application/json' }],
    ['GET', 406, { accept: undefined }],
  ];
  for (const [method, status, headers] of requests)
    for (const sent of [key, 'f'.repeat(32)]) {
      const response = await app.send(`${method} !/v/${sent}/`, { headers: { ...PERSON, ...headers } });
      assert.equal([response.statusCode, response.headers['set-cookie']], [status, undefined]);
      assert.is(response.headers['cache-control'], 'no-store');
      assert.match(response.body, status === 406 ? 'send `Accept: text/html`. The app was not opened' : /^$/);
    }
  assert.is((await viewOf(app, key)).usages_cnt, 0);
  assert.is((await openView(app, key, FRAME)).statusCode, 303);
});

views('opens the app for a second click in the same browser, which is no second use', async ({ app }) => {
  const { key } = await createView(app, { user: ADA });
  const codes = new Set((await Promise.all([openView(app, key), openView(app, key)])).map(codeIn));

  assert.is(codes.size, 2);
  for (const code of codes) await app.as(null).tickets.exchange({ code, app: 'sales' });
  assert.is((await viewOf(app, key)).usages_cnt, 1);
  assert.is((await openView(app, key, { 'user-agent': 'Mozilla/5.0 (another)' })).statusCode, 410);
  app.clock.advance(5_000);
  assert.is((await openView(app, key)).statusCode, 410);
});

const openInBrowsers = async (app: TestApp, key: string, count: number) => {
  const agents = Array.from({ length: count }, (_, browser) => `Mozilla/5.0 (${browser})`);
  const opened = await Promise.all(agents.map((agent) => openView(app, key, { 'user-agent': agent })));
  return opened.map(({ statusCode }) => statusCode).sort();
};

views('admits exactly one of ten parallel opens of a view for one use', async ({ app }) => {
  const { key } = await createView(app, { user: ADA });

  assert.equal(await openInBrowsers(app, key, 10), [303, ...Array(9).fill(410)]);
  assert.is((await app.as(ACME).accessViews.uses({ key })).length, 1);
  assert.is((await viewOf(app, key)).usages_cnt, 1);
});

views('gives a rotating view a new key for one of five parallel openers', async ({ app }) => {
  const created = await createView(app, { autorotate: true, allowed_uses_cnt: 0, flags: { race: 1 } });
  const used: string[] = [];
  let { key } = created;
  for (let round = 0; round < 3; round += 1) {
    assert.is((await openInBrowsers(app, key, 5)).filter((status) => status === 303).length, 1);
    used.push(key);
    const [view, ...others] = await app.as(ACME).accessViews.list({ flags: { race: '1' } });
    assert.equal([others, view?.usages_cnt], [[], used.length]);
    key = String(view?.key);
  }
  const uses = await app.as(ACME).accessViews.uses({ key });
  assert.equal(uses.map((use) => use.raw_key).sort(), used.toSorted());
  assert.is(new Set([...used, key]).size, 4);
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
  const maintenance_message = 'Back <b>soon</b><script>x</script>';
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: true, maintenance_message });
  await at({ user: ADA }, 503, /Sales is in maintenance[\s\S]*Back <b>soon<\/b></);
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: false, maintenance_message: '' });
  await root.clients.updateGate({ id: 1, is_open: false });
  await at({}, 403, /This app is closed/);
  await root.clients.updateGate({ id: 1, is_open: true });
  await setApp(app, { launch_url: '' });
  await at({}, 404, /Sales cannot be opened yet/);
  await setApp(app, { launch_url: LAUNCH_URL });
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
  const statuses = async () => {
    const opened = await Promise.all([byAdmin, ofMember, bySuperuser].map(({ key }) => openView(app, key)));
    return opened.map(({ statusCode }) => statusCode);
  };

  for (const role of ['is_superuser', 'is_staff'] as const) {
    const code = codeIn(await openView(app, byAdmin.key));
    await root.roles.update({ email: GRACE, [role]: true });
    assert.equal(await statuses(), [403, 403, 303], role);
    await rejectsWith(app.as(null).tickets.exchange({ code, app: 'sales' }), 'invalid-launch-code');
    await root.roles.update({ email: GRACE, [role]: false });
    assert.equal(await statuses(), [303, 303, 303]);
  }
});

views('shows the page for a refusal in frames of the sites of the client', async ({ app }) => {
  const { key } = await createView(app, { is_active: false });
  const headersOf = async (sent = key) => {
    const { headers } = await openView(app, sent);
    const [, ancestors] = /frame-ancestors ([^;]*)/.exec(String(headers['content-security-policy'])) ?? [];
    return [ancestors, headers['x-frame-options']];
  };

  assert.equal(await headersOf(), ["'none'", 'DENY']);
  const embed_origins = ['https://portal.example.com', 'https://other.example.com:8443'];
  await app.as(ROOT).clients.updateGate({ id: 1, embed_origins });
  assert.equal(await headersOf(), [embed_origins.join(' '), undefined]);
  assert.equal(await headersOf('f'.repeat(32)), ["'none'", 'DENY']);
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

views('gives a second click nothing after what the first had opened was ended', async ({ app }) => {
  const { id, key } = await createView(app, { user: ADA });
  assert.is((await openView(app, key)).statusCode, 303);
  await app.as(ROOT).tickets.revoke({ access_view: String(id) });
  assert.is((await openView(app, key)).statusCode, 410);

  const leaked = await createView(app, { allowed_uses_cnt: 0 });
  assert.is((await openView(app, leaked.key)).statusCode, 303);
  const rotate = async (tx: Tx) => {
    await tx.updateTable('access_views').set({ key: 'rotated' }).where('id', '=', leaked.id).execute();
    await tx.deleteFrom('embed_sessions').execute();
  };
  assert.is(await openDuring(app, leaked.key, rotate), 410);
});

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
    assert.equal(await rowsOf(app, 'access_view_uses', { access_view_id: id }), []);
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
    const embed = async () => {
      const { url } = (await app.send(`GET ${path}`, { as: ACME })).json();
      return String(/^https:\/\/steward\.test\/v\/([0-9a-f]{32})\/$/.exec(url)?.[1]);
    };
    const key = await embed();
    assert.not.ok((await app.as(ACME).accessViews.list({})).some((view) => view.key === key));
    const first = await app.send(`GET !/v/${key}/`, { headers: PERSON });
    assert.is(first.statusCode, 303, 'at once, without a button');
    assert.ok(Number(first.cookies[0]?.maxAge) > 11 * 3600, 'what it opened outlasts the link');
    assert.match((await openView(app, key)).body, /This link was already used/);
    const [created] = await app.as(ACME).audit.list({ action: 'access-view.create', limit: 1 });
    const { user, is_one_time } = created?.details ?? {};
    assert.equal([created?.actor, user, is_one_time], [ACME, await userId(app, ADA), true]);
    const late = await embed();
    const { expires_at } = await rowOf(app, 'access_views', { key: late });
    const past = new Date(Number(expires_at) - 60_000);
    await setRows(app, 'access_views', { key: late }, { expires_at: past });
    assert.match((await openView(app, late)).body, /This link has expired/);
  }
});

views('embeds with an API token only, as a GET of a browser has no CSRF protection', async ({ app }) => {
  const { send } = await loggedIn(app, ACME);
  const before = await rowsOf(app, 'access_views');

  for (const path of [`!/api/v2/embed/sales/${ADA}/`, `/jb/apps/sales/embed/${ADA}/`]) {
    const { statusCode, json } = await send(`GET ${path}`);
    assert.equal([statusCode, json().detail], [403, 'This needs an API token, not a browser session.']);
  }
  assert.equal(await rowsOf(app, 'access_views'), before);
});

views('embeds only apps that the caller manages, for users who can open them', async ({ app }) => {
  // An administrator of another client, who can open the app.
  await app.as(ROOT).users.update({ email: EDSGER, apps: [SALES] });
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: EDSGER, is_admin: true });
  for (const [slug, email, as, status] of [
    ['fleet', ADA, ACME, 404],
    ['nothing', ADA, ACME, 404],
    ['sales', 'unknown@acme.test', ACME, 404],
    ['churn', GRACE, ACME, 403],
    ['sales', ADA, ADA, 403],
    ['sales', ADA, STAFF, 403],
    ['sales', EDSGER, EDSGER, 403],
  ] as const) {
    const { statusCode } = await app.send(`GET !/api/v2/embed/${slug}/${email}/`, { as });
    assert.is(statusCode, status, `${slug} ${email} ${as}`);
  }
});

views.run();
