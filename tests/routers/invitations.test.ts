import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { fieldOf } from '../support/lists.ts';
import { invitationLink } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf, setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, IDLE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { inDays } from '../support/time.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const invitations = appSuite('invitations');

const PATH = '/jb/users/invitations/';

const invite = async (app: TestApp, email: string, more: object = {}, who = ACME) => {
  const [made] = await app.as(who).invitations.create({ items: [{ email, ...more }] });
  assert.ok(made);
  return made;
};

const mailsTo = async (app: TestApp, recipient: string) =>
  (await rowsOf(app, 'outbox_mails', { recipient })).length;

/** The fields that an invalid input names. */
const faultsOf = async (call: Promise<unknown>) =>
  Object.keys((await rejectsWith(call, 'invalid-input')).fields ?? {});

invitations('create belongs to the only client of the inviter, and is mailed', async ({ app }) => {
  const more = { initial_apps: [SALES], extra: { a: 1 }, is_demo_user: 'true' };
  const made = await invite(app, 'Guest@Example.test', more);

  assert.equal(
    [made.email, made.user.email, made.date_invited],
    ['guest@example.test', ACME, app.clock.now()],
  );
  assert.equal([made.initial_apps, made.extra, made.is_demo_user], [[SALES], { a: 1 }, 'true']);
  assert.is(made.invitation_email_count, 0);
  assert.ok(made.key.length >= 32);
  assert.is(await mailsTo(app, 'guest@example.test'), 1);
});

invitations('create accepts is_demo_user as a string or a boolean, and returns a string', async ({ app }) => {
  for (const [is_demo_user, shown] of [
    [true, 'true'],
    ['True', 'true'],
    ['FALSE', 'false'],
    [undefined, 'false'],
  ] as const)
    assert.is((await invite(app, `demo-${is_demo_user}@x.test`, { is_demo_user })).is_demo_user, shown);
  await rejectsWith(invite(app, 'demo@x.test', { is_demo_user: 'yes' }), 'invalid-input');
});

invitations('create answers REST by an object or an array like the request', async ({ app }) => {
  const send = async (payload: object, path = PATH) =>
    (await app.send(`POST ${path}`, { as: ACME, payload })).json();
  const apps = { initial_apps: [FLEET] };

  assert.is((await send({ email: 'r1@x.test' })).email, 'r1@x.test');
  assert.is((await send([{ email: 'r2@x.test' }]))[0].email, 'r2@x.test');
  assert.equal(await send([]), []);
  assert.equal((await send({ email: 'bad', ...apps })).errors, { email: ['Must be an email address.'] });
  const foreign = { email: 'f@x.test', ...apps, client: 2 };
  assert.equal((await send([{ email: 'ok@x.test' }, foreign])).errors, {
    1: { client: ['You cannot invite to client 2.'] },
  });
  assert.equal((await send({ email: 'f@x.test', ...apps }, '/jb/clients/1/users/invitations/')).errors, {
    initial_apps: ['This client has no app Hb7cW2ke.'],
  });
});

invitations('create without a client is for that of its apps or its inviter', async ({ app }) => {
  const create = (more: object = {}) => invite(app, 'byapp@x.test', more, ROOT);

  await create({ initial_apps: [FLEET] });
  assert.is((await app.as(GLOBEX).invitations.search({ search: 'byapp@x.test' })).length, 1);
  assert.equal(await faultsOf(create()), ['items.0.client']);
  assert.equal(await faultsOf(create({ initial_apps: [FLEET, SALES] })), ['items.0.initial_apps']);
  assert.is((await create({ client: 2 })).user.email, ROOT);
  assert.equal(await faultsOf(create({ client: 99 })), ['items.0.client']);
});

invitations('create is refused for active members of the client, but not of another', async ({ app }) => {
  assert.equal(await faultsOf(invite(app, ADA)), ['items.0.email']);
  for (const email of [IDLE, EDSGER]) assert.is((await invite(app, email)).email, email);
});

invitations('are listed to their inviter, and by client and app to others', async ({ app }) => {
  await invite(app, 'globex@x.test', { initial_apps: [FLEET] }, GLOBEX);
  await invite(app, 'by-root@x.test', { client: 2, initial_apps: [FLEET] }, ROOT);
  await invite(app, 'no-app@x.test', { client: 2 }, ROOT);
  const listed = async (who: string, filter = {}) =>
    fieldOf(await app.as(who).invitations.list(filter), 'email');

  assert.equal(await listed(GLOBEX), ['globex@x.test']);
  assert.equal(await listed(STAFF), []);
  assert.equal(fieldOf(await app.as(STAFF).clients.invitations({ id: 2 }), 'email').slice(-3), [
    'globex@x.test',
    'by-root@x.test',
    'no-app@x.test',
  ]);
  for (const who of [GLOBEX, STAFF, ROOT])
    assert.equal((await listed(who, { app: 'fleet' })).slice(-2), ['globex@x.test', 'by-root@x.test'], who);
  await rejectsWith(listed(ACME, { app: 'fleet' }), 'not-found');
  await rejectsWith(listed(ADA, { app: 'fleet' }), 'forbidden');
});

invitations('repeated merge apps, replace extra, keep the rest, and mail again', async ({ app }) => {
  const email = 'again@x.test';
  const first = await invite(app, email, { initial_apps: [SALES], extra: { a: 1 }, is_demo_user: true });
  const next = { id: 1, email, initial_apps: [CHURN], extra: { b: 2 } };
  const second = await app.as(ACME).clients.invite(next);
  const third = await invite(app, email);

  assert.equal([second.id, second.key], [first.id, first.key]);
  assert.equal([third.initial_apps, third.extra, third.is_demo_user], [[SALES, CHURN], { b: 2 }, 'true']);
  assert.is(await mailsTo(app, email), 3);
});

invitations('repeated after the old one has expired are new, and the old one stays', async ({ app }) => {
  const old = await invite(app, 'late@x.test');
  app.clock.advance(14 * DAY_MS);
  const ids = async (status: 'pending' | 'expired' | 'all') =>
    fieldOf(await app.as(ACME).invitations.list({ status, search: 'late@x.test' }), 'id');

  assert.equal([await ids('pending'), await ids('expired')], [[], [old.id]]);
  const renewed = await invite(app, 'late@x.test');
  assert.equal([await ids('pending'), await ids('expired')], [[renewed.id], [old.id]]);
  assert.equal(await ids('all'), [old.id, renewed.id]);
});

invitations('repeated concurrently are one invitation with all fields', async ({ app }) => {
  const email = 'rush@x.test';
  const full = { extra: { keep: 1 }, is_demo_user: true };
  const made = await Promise.all(
    Array.from({ length: 12 }, (_, n) => invite(app, email, n % 3 === 1 ? full : {})),
  );

  assert.is(new Set(fieldOf(made, 'id')).size, 1);
  assert.is(await mailsTo(app, email), 12);
  const [kept] = await app.as(ACME).invitations.list({ search: email });
  assert.equal([kept?.extra, kept?.is_demo_user], [{ keep: 1 }, 'true']);
});

invitations('repeated by concurrent bulks in different orders are one for each address', async ({ app }) => {
  const people = Array.from({ length: 200 }, (_, n) => ({ email: `bulk${n}@x.test` }));
  const bulks = [people, people.toReversed(), people.slice(2), people.toReversed(), people.slice(0, 20)];

  const made = await Promise.all(bulks.map((items) => app.as(ACME).invitations.create({ items })));

  for (const [n, items] of bulks.entries())
    assert.equal(fieldOf(made[n] ?? [], 'email'), fieldOf(items, 'email'));
  assert.is(new Set(fieldOf(made.flat(), 'id')).size, people.length);
});

invitations('repeated do not deadlock with changes in two clients', async ({ app }) => {
  const emails = Array.from({ length: 30 }, (_, n) => `dl${n}@x.test`);
  const halves = [1, 2].map((client) => emails.map((email) => ({ email, client })));
  const { create, update } = app.as(ROOT).invitations;
  for (const items of halves) await create({ items });

  await Promise.all([
    ...halves.map((items) => create({ items: items.toReversed() })),
    ...emails.map((email) => update({ email, extra: { changed: true } })),
    ...halves.map((items) => create({ items })),
  ]);
});

invitations('show only the address of an inviter whom the caller may not see', async ({ app }) => {
  const { id } = await invite(app, 'byroot@x.test', { client: 1 }, ROOT);
  await setRows(app, 'users', { email: ROOT }, { last_login: app.clock.now() });
  const shown = (await app.as(ACME).clients.invitations({ id: 1 })).find((row) => row.id === id);

  assert.equal([shown?.user.email, shown?.user.last_login], [ROOT, null]);
});

const PASSWORD = 'violet-harbor-92-kite';
const BARBARA = { first_name: 'Barbara', last_name: 'Liskov' };

const namesOf = (named: { first_name?: string; last_name?: string } | null) => [
  named?.first_name,
  named?.last_name,
];

invitations('propose names to the invitee, who may send others', async ({ app }) => {
  const open = async (email: string, names: object = {}) => {
    const { key } = await invite(app, email, BARBARA);
    const link = invitationLink(app, key);
    const page = await app.as(null).invitations.preview(link);
    const { body } = await app.send(`GET !/invitation/${key}/?signature=${link.signature}`);
    assert.match(body, /name="first_name"[^>]*value="Barbara"/);
    const { user } = await app.as(null).invitations.accept({ ...link, ...names, password: PASSWORD });
    return [namesOf(page), namesOf(user)];
  };

  assert.equal(await open('barbara@new.test'), [
    ['Barbara', 'Liskov'],
    ['Barbara', 'Liskov'],
  ]);
  assert.equal(await open('bea@new.test', { first_name: 'Bea', last_name: '' }), [
    ['Barbara', 'Liskov'],
    ['Bea', ''],
  ]);
});

invitations('have names that count for the rules of passwords', async ({ app }) => {
  const { key } = await invite(app, 'weak@new.test', { first_name: 'Ottokarina' });
  const attempt = app.as(null).invitations.accept({ ...invitationLink(app, key), password: 'ottokarina1' });

  assert.equal(await faultsOf(attempt), ['password']);
});

invitations('have names that change if they are stated again, recorded without them', async ({ app }) => {
  const email = 'typo@new.test';
  const { id } = await invite(app, email, { ...BARBARA, last_name: 'Lisskov' });
  const names = async () => namesOf(await app.as(ACME).invitations.get({ id }));
  await invite(app, email);
  assert.equal(await names(), ['Barbara', 'Lisskov']);
  await invite(app, email, { first_name: 'Bea' });
  assert.equal(await names(), ['Bea', 'Lisskov']);
  await app.as(ACME).invitations.update({ email, last_name: 'Liskov' });
  assert.equal(await names(), ['Bea', 'Liskov']);

  const [entry] = await app.as(ACME).audit.list({ target: email });
  assert.is(entry?.action, 'invitation.update');
  assert.not.match(JSON.stringify(entry), 'Liskov');
});

/** Accepts by the link, and returns what the person has then. */
const accept = async (app: TestApp, { email, key }: { email: string; key: string }) => {
  const link = invitationLink(app, key);
  const page = await app.as(null).invitations.preview(link);
  await app.as(null).invitations.accept({ ...link, password: PASSWORD });
  const { apps } = await app.as(ROOT).users.get({ email });
  return { page, apps, grants: await app.as(ROOT).access.listByUser({ email }) };
};

let teams = 0;
const makeGroup = async (app: TestApp, client = 1, apps = [CHURN]) =>
  (await app.as(ROOT).groups.create({ id: client, name: `Team ${++teams}`, apps })).id;

invitations('to groups give the apps of the groups, and grants that end', async ({ app }) => {
  const group = await makeGroup(app);
  const end = inDays(app, 14);
  const more = { initial_apps: [SALES], groups: [group], apps_expire_at: end };
  const invitation = await invite(app, 'grouped@new.test', more);
  const details = await app.as(ACME).invitations.get({ id: invitation.id });
  assert.equal([details.groups, details.apps_expire_at], [[group], end]);

  const { page, apps, grants } = await accept(app, invitation);

  assert.is(page.apps.length, 2);
  assert.equal(apps.toSorted(), [CHURN, SALES].toSorted());
  assert.equal(grants.find(({ app: id }) => id === SALES)?.expires_at, end);
  const { members } = await app.as(ACME).groups.get({ id: 1, group_id: group });
  assert.equal(members, [invitation.email]);
  const [path] = (await app.as(ACME).access.explain({ email: invitation.email, app_id: CHURN })).paths;
  assert.equal([path?.kind, path?.granted_by], ['group', ACME]);
});

invitations('give no app whose time is over when they are accepted', async ({ app }) => {
  const invitation = await invite(app, 'over@new.test', {
    initial_apps: [SALES],
    apps_expire_at: inDays(app, 1),
  });
  await setRows(app, 'invitations', { id: invitation.id }, { apps_expire_at: inDays(app, -1) });

  assert.equal((await accept(app, invitation)).apps, []);
});

invitations('refuse groups of another client and times in the past, by the field', async ({ app }) => {
  const wrong = { groups: [await makeGroup(app, 2, [FLEET])], apps_expire_at: new Date(0) };
  const { email } = await invite(app, 'refused@new.test');

  assert.equal(await faultsOf(invite(app, email, wrong)), ['items.0.groups', 'items.0.apps_expire_at']);
  const update = (changes: object) => app.as(ACME).invitations.update({ email, ...changes });
  assert.equal(await faultsOf(update({ groups: wrong.groups })), ['groups']);
  assert.equal(await faultsOf(update({ apps_expire_at: new Date(0) })), ['apps_expire_at']);
});

invitations('to groups change while they are pending, and keep what is not named', async ({ app }) => {
  const [one, two] = [await makeGroup(app), await makeGroup(app, 1, [SALES])];
  const end = inDays(app, 1);
  const email = 'changing@new.test';
  const { id } = await invite(app, email, { initial_apps: [SALES], groups: [one], apps_expire_at: end });
  const stateOf = async () => {
    const found = await app.as(ACME).invitations.get({ id });
    return [found.groups, found.apps_expire_at, found.initial_apps];
  };
  await invite(app, email, { groups: [two] });
  assert.equal(await stateOf(), [[one, two], end, [SALES]]);
  await app.as(ACME).invitations.update({ email, groups: [two], apps_expire_at: null });
  assert.equal(await stateOf(), [[two], null, [SALES]]);
  await app.as(ACME).groups.remove({ id: 1, group_id: two });
  assert.equal(await stateOf(), [[], null, [SALES]]);
});

invitations('to groups are not shown in the documented shape of the path of a client', async ({ app }) => {
  const groups = [await makeGroup(app)];
  const payload = { email: 'path@new.test', groups, apps_expire_at: '2099-01-31T12:00:00Z' };
  const created = (await app.send('POST /jb/clients/1/users/invitations/', { as: ACME, payload })).json();

  assert.equal([created.groups, created.apps_expire_at], [undefined, undefined]);
  assert.equal((await app.as(ACME).invitations.get({ id: created.id })).groups, groups);
});

invitations('update changes apps and extra without sending a mail, or nothing', async ({ app }) => {
  await invite(app, 'up@x.test', { initial_apps: [SALES], extra: { a: 1 } });
  const { update } = app.as(ACME).invitations;
  const changed = await update({ email: 'UP@x.test', initial_apps: [CHURN] });

  assert.equal([changed.initial_apps, changed.extra], [[CHURN], { a: 1 }]);
  const foreign = app.as(ROOT).invitations.update({ email: 'up@x.test', extra: {}, initial_apps: [FLEET] });
  assert.equal(await faultsOf(foreign), ['initial_apps']);
  const kept = await update({ email: 'up@x.test' });
  assert.equal([kept.initial_apps, kept.extra], [[CHURN], { a: 1 }]);
  assert.equal((await update({ email: 'up@x.test', extra: {} })).extra, {});
  assert.is(await mailsTo(app, 'up@x.test'), 1);
});

invitations('update finds pending ones that the caller may see and change', async ({ app }) => {
  const update = (who: string, email: string) => app.as(who).invitations.update({ email, extra: {} });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: STAFF, is_admin: true });
  await invite(app, 'theirs@x.test', {}, GLOBEX);

  await rejectsWith(update(ACME, 'theirs@x.test'), 'not-found');
  await rejectsWith(update(ACME, 'never@x.test'), 'not-found');
  await rejectsWith(update(STAFF, 'theirs@x.test'), 'forbidden');
  app.clock.advance(15 * DAY_MS);
  await rejectsWith(update(GLOBEX, 'theirs@x.test'), 'not-found');
});

invitations('update prefers the invitation by the caller, or requires the client', async ({ app }) => {
  const email = 'both@x.test';
  for (const who of [ACME, GLOBEX]) await invite(app, email, {}, who);
  const update = async (who: string, query = '') =>
    (await app.send(`PATCH ${PATH}${email}/${query}`, { as: who, payload: { extra: {} } })).json();

  const ambiguous = await update(ROOT);
  assert.is(ambiguous.status, 409);
  assert.match(ambiguous.detail, '?client=');
  assert.is((await update(ROOT, '?client=2')).user.email, GLOBEX);
  assert.is((await update(ACME)).user.email, ACME);
});

const people = (count: number, prefix = 'p') =>
  Array.from({ length: count }, (_, n) => ({ email: `${prefix}${n}@x.test`, initial_apps: [SALES] }));

const counts = async (app: TestApp) => {
  const tables = ['invitations', 'invitation_apps', 'outbox_mails'] as const;
  return Promise.all(tables.map(async (table) => (await rowsOf(app, table)).length));
};

const bulk = appSuite('invitations.create: bulk');

bulk('creates nothing if any element is invalid, or in a dry run', async ({ app }) => {
  for (const at of [0, 57, 99]) {
    const items = people(100).with(at, { email: ADA, initial_apps: [] });
    assert.equal(await faultsOf(app.as(ACME).invitations.create({ items })), [`items.${at}.email`]);
  }
  const tryOut = async (payload: object, value = 'true') =>
    (await app.send(`POST ${PATH}?dry_run=${value}`, { as: ACME, payload })).json();

  assert.is((await tryOut(people(3))).length, 3);
  assert.equal(Object.keys((await tryOut([{ email: ADA }])).errors), ['0']);
  assert.equal(Object.keys((await tryOut(people(3), 'perhaps')).errors), ['dry_run']);
  assert.equal(await counts(app), [0, 0, 0]);
});

bulk('reports all errors of every element, and duplicate addresses', async ({ app }) => {
  const payload = [
    { email: 'twin@x.test' },
    { email: 'TWIN@x.test' },
    { email: ADA, initial_apps: ['AAAAAAAA'] },
    { email: 'ok@x.test', client: 2 },
    { email: 'bad', first_name: 'x'.repeat(151) },
    { initial_apps: [SALES] },
    'text',
  ];
  const { errors, status } = (await app.send(`POST ${PATH}`, { as: ACME, payload })).json();

  assert.is(status, 400);
  assert.equal(errors[1], { email: ['Element 0 already invites this address.'] });
  assert.equal(errors[2], {
    email: ['An active user of this client already has this address.'],
    initial_apps: ['This client has no app AAAAAAAA.'],
  });
  assert.equal(errors[3], { client: ['You cannot invite to client 2.'] });
  assert.equal(Object.keys(errors[4]).sort(), ['email', 'first_name']);
  assert.equal(errors[5], { email: ['This field is required.'] });
  assert.equal(Object.keys(errors), ['1', '2', '3', '4', '5', '6']);
});

bulk('returns one element for each, in order, from one transaction', async ({ app }) => {
  const items = people(500, 'many').toReversed();
  const made = await app.as(ACME).invitations.create({ items });

  assert.equal(fieldOf(made, 'email'), fieldOf(items, 'email'));
  assert.equal(await counts(app), [500, 500, 500]);
});

invitations.run();
bulk.run();
