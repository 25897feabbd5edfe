import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { createAudit, NO_ORIGIN } from '../../src/services/audit/audit.ts';
import { pruneGrants } from '../../src/services/users/grants.ts';
import { claimsIn } from '../support/access-views.ts';
import { fieldOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const grants = appSuite('grants');

let created = 0;

/** A new member of Acme with one app. */
const addMember = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `granted-${created}@acme.test`;
  await app.as(ACME).users.create({ email, apps: [SALES] });
  return email;
};

const inDays = (app: TestApp, days: number): Date => new Date(app.clock.now().getTime() + days * DAY_MS);

/** As if time had passed. */
const expire = (app: TestApp, email: string, app_id: string) =>
  sql`update app_grants set expires_at = ${app.clock.now()}::timestamptz - interval '1 second'
    where app_id = ${app_id} and user_id = (select id from users where email = ${email})`.execute(app.db());

grants('of an app are given with an end and a reason, changed and revoked', async ({ app }) => {
  const email = await addMember(app);
  const path = `/jb/apps/${CHURN}/grants/`;
  const end = inDays(app, 14);
  const body = { email, expires_at: end.toISOString(), reason: 'Cover for Ada' };
  const answer = await app.send(`POST ${path}`, { as: ACME, payload: body });

  assert.is(answer.statusCode, 201);
  const expected = { email, first_name: '', last_name: '', granted_by: ACME, reason: 'Cover for Ada' };
  const times = { granted_at: app.clock.now().toISOString(), expires_at: end.toISOString() };
  assert.equal(answer.json(), { ...expected, ...times });
  assert.equal((await app.as(email).apps.list({})).map(({ id }) => id).toSorted(), [CHURN, SALES].toSorted());
  const [grant] = (await app.as(ACME).access.listByUser({ email })).filter((row) => row.app === CHURN);
  assert.equal([grant?.expires_at, grant?.reason, grant?.granted_by], [end, 'Cover for Ada', ACME]);

  const later = inDays(app, 28);
  const changed = await app.as(ACME).grants.update({ app_id: CHURN, email, expires_at: later });
  assert.equal([changed.expires_at, changed.reason], [later, 'Cover for Ada']);
  const listed = await app.as(ACME).grants.list({ app_id: CHURN });
  assert.ok(listed.some((row) => row.email === email && row.expires_at?.getTime() === later.getTime()));

  await app.as(ACME).grants.remove({ app_id: CHURN, email });
  await rejectsWith(app.as(ACME).grants.remove({ app_id: CHURN, email }), 'not-found');
  await rejectsWith(app.as(ACME).grants.update({ app_id: CHURN, email, reason: 'x' }), 'not-found');
  assert.equal(fieldOf(await app.as(email).apps.list({}), 'id'), [SALES]);
  const actions = (await app.as(ACME).audit.list({ target: email, limit: 3 })).map(({ action }) => action);
  assert.equal(actions, ['user.change-apps', 'grant.update', 'user.change-apps']);
});

grants('of an app are refused to those who have it, and for the past', async ({ app }) => {
  const email = await addMember(app);
  const { create } = app.as(ACME).grants;

  const twice = await rejectsWith(create({ app_id: SALES, email }), 'invalid-input');
  assert.match(twice.fields?.email?.[0] ?? '', /already has the app/);
  const past = await rejectsWith(
    create({ app_id: CHURN, email, expires_at: inDays(app, -1) }),
    'invalid-input',
  );
  assert.equal(past.fields, { expires_at: ['Must be in the future.'] });
});

grants('of an app that have expired count nowhere, and can be given again', async ({ app }) => {
  const email = await addMember(app);
  await app.as(ACME).grants.create({ app_id: CHURN, email, expires_at: inDays(app, 1) });
  await expire(app, email, CHURN);

  assert.equal(fieldOf(await app.as(email).apps.list({}), 'id'), [SALES]);
  await rejectsWith(app.as(email).apps.openTicket({ app_id: CHURN }), 'not-found');
  assert.equal((await app.as(ACME).users.get({ email })).apps, [SALES]);
  assert.equal(await app.as(ACME).users.count({ app: 'churn', search: email }), { count: 0 });
  const { users } = await app.as(ACME).access.matrix({ id: 1, search: email });
  assert.equal(users[0]?.apps, [SALES]);
  const streamed: { email: string; apps: string[] }[] = (
    await app.send('GET /jb/clients/1/users/', { as: ACME })
  ).json();
  assert.equal(streamed.find((user) => user.email === email)?.apps, [SALES]);

  const again = await app.as(ACME).grants.create({ app_id: CHURN, email, reason: 'Again' });
  assert.equal([again.expires_at, again.reason], [null, 'Again']);
  assert.ok((await app.as(email).apps.openTicket({ app_id: CHURN })).ticket);
});

grants('of an app end tickets that would outlive them', async ({ app }) => {
  const email = await addMember(app);
  const end = new Date(Math.floor(app.clock.now().getTime() / 1000) * 1000 + MINUTE_MS);
  await app.as(ACME).grants.update({ app_id: SALES, email, expires_at: end });
  const { ticket, expires_at } = await app.as(email).apps.openTicket({ app_id: SALES });

  assert.is(claimsIn(ticket).exp, end.getTime() / 1000);
  assert.equal(expires_at, end);
  assert.is((await app.as(ROOT).tickets.introspect({ token: ticket })).active, true);
  await expire(app, email, SALES);
  assert.is((await app.as(ROOT).tickets.introspect({ token: ticket })).active, false);
});

grants('of an app that have expired are deleted and recorded', async ({ app }) => {
  const email = await addMember(app);
  await expire(app, email, SALES);
  await pruneGrants(app.orm.em.fork(), createAudit(NO_ORIGIN, app.clock), app.clock.now());

  const [entry] = await app.as(ACME).audit.list({ target: email, limit: 1 });
  assert.equal([entry?.action, entry?.actor, entry?.clients], ['grant.expire', '', [1]]);
  assert.equal(entry?.details, { revoked: [SALES] });
  const { rows } =
    await sql`select from app_grants where expires_at <= ${app.clock.now()}::timestamptz`.execute(app.db());
  assert.is(rows.length, 0);
});

grants('of an app come back by an undo as they were, unless they would have ended', async ({ app }) => {
  const email = await addMember(app);
  const end = inDays(app, 1);
  await app.as(ACME).grants.create({ app_id: CHURN, email, expires_at: end, reason: 'Audit' });
  const revoke = () =>
    app.as(ACME).users.bulkUpdate({ emails: [email], action: 'revoke-apps', apps: [SALES, CHURN] });
  const first = await revoke();
  await app.as(ACME).operations.undo({ id: first.operation });
  const grant = (await app.as(ACME).grants.list({ app_id: CHURN })).find((row) => row.email === email);
  assert.equal([grant?.expires_at, grant?.reason], [end, 'Audit']);

  const second = await revoke();
  await sql`update operation_changes set revoked_terms = replace(revoked_terms::text, ${end.getUTCFullYear()}::text, '2001')::json
    where operation_id = ${second.operation}`.execute(app.db());
  const { reverted, skipped } = await app.as(ACME).operations.undo({ id: second.operation });

  assert.equal(
    [reverted, skipped.map(({ app_id, problem }) => [app_id, problem.code])],
    [1, [[CHURN, 'expired']]],
  );
  assert.equal((await app.as(ACME).users.get({ email })).apps, [SALES]);
});

grants('of an app are given to many people with one end', async ({ app }) => {
  const emails = [await addMember(app), await addMember(app)];
  const end = inDays(app, 14);
  const change = { emails, action: 'grant-apps' as const, apps: [CHURN] };
  const { results } = await app.as(ACME).users.bulkUpdate({ ...change, expires_at: end });

  assert.ok(results.every(({ status }) => status === 'ok'));
  const listed = await app.as(ACME).grants.list({ app_id: CHURN });
  assert.equal(
    fieldOf(
      listed.filter(({ email }) => emails.includes(email)),
      'expires_at',
    ),
    [end, end],
  );
  await rejectsWith(
    app.as(ACME).users.bulkUpdate({ ...change, expires_at: inDays(app, -1) }),
    'invalid-input',
  );
  const other = { emails, action: 'deactivate' as const, expires_at: end };
  await rejectsWith(app.as(ACME).users.bulkUpdate(other), 'invalid-input');
});

grants('of an app are given once by parallel requests', async ({ app }) => {
  const email = await addMember(app);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, () => app.as(ACME).grants.create({ app_id: CHURN, email })),
  );

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
});

grants('of an app are revoked beside a group that gives the same app', async ({ app }) => {
  const email = 'beside@acme.test';
  await app.as(ROOT).users.create({ email, apps: [SALES] });
  await app.as(ACME).groups.create({ id: 1, name: 'Beside', members: [email], apps: [SALES] });
  await app.as(ACME).grants.remove({ app_id: SALES, email });

  const { paths, allowed } = await app.as(ACME).access.explain({ email, app_id: SALES });
  assert.equal([allowed, paths.map(({ kind }) => kind)], [true, ['group']]);
  await rejectsWith(app.as(ACME).grants.remove({ app_id: SALES, email }), 'not-found');
});

grants('of an app that end soon are listed, and extended together', async ({ app }) => {
  const soon = new Date(app.clock.now().getTime() + DAY_MS);
  const later = new Date(app.clock.now().getTime() + 60 * DAY_MS);
  await app.as(ROOT).users.create({ email: 'ends1@acme.test', apps: [SALES] });
  await app.as(ROOT).users.create({ email: 'ends2@acme.test', apps: [SALES, FLEET] });
  const named = [
    { app_id: SALES, email: 'ends1@acme.test' },
    { app_id: SALES, email: 'ends2@acme.test' },
    { app_id: FLEET, email: 'ends2@acme.test' },
  ];
  await app.as(ROOT).grants.extend({ grants: named, expires_at: soon });
  const listed = async (who: string) =>
    (await app.as(who).grants.listEnding({}))
      .map(({ app_id, email }) => ({ app_id, email }))
      .filter(({ email }) => email.startsWith('ends'));

  assert.equal(await listed(ACME), named.slice(0, 2));
  assert.equal(await listed(GLOBEX), named.slice(2));
  await rejectsWith(app.as(ADA).grants.listEnding({}), 'forbidden');
  const { results } = await app.as(ACME).grants.extend({ grants: named, expires_at: later });
  assert.equal(
    results.map(({ status, problem }) => [status, problem?.code]),
    [
      ['ok', undefined],
      ['ok', undefined],
      ['failed', 'not-found'],
    ],
  );
  assert.equal([await listed(ACME), await listed(GLOBEX)], [[], named.slice(2)]);
  const past = app.as(ACME).grants.extend({ grants: named, expires_at: new Date(0) });
  await rejectsWith(past, 'invalid-input');
});

const ENDLESS = { expires_at: null, reason: '' };

const grantOf = async (app: TestApp, who: string, email: string, id: string) =>
  (await app.as(who).access.listByUser({ email })).find((grant) => grant.app === id);

grants('of a user say who granted an app, and when, for the latest grant', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [] });
  app.clock.advance(MINUTE_MS);
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES] });
  await app.as(ROOT).users.update({ email: GRACE, apps: [] });
  app.clock.advance(MINUTE_MS);
  const granted_at = app.clock.now();
  await app.as(ACME).access.update({ id: 1, cells: [{ email: GRACE, app_id: SALES, granted: true }] });
  app.clock.advance(MINUTE_MS);
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, CHURN] });

  const listed = await app.as(ACME).access.listByUser({ email: GRACE });

  assert.equal(listed, [
    { app: SALES, granted_at, granted_by: ACME, ...ENDLESS },
    { app: CHURN, granted_at: app.clock.now(), granted_by: ROOT, ...ENDLESS },
  ]);
});

grants('of a user name the inviter of an accepted invitation', async ({ app }) => {
  const email = 'invited@guest.test';
  const items = [{ email, client: 1, initial_apps: [SALES] }];
  const [invitation] = await app.as(ACME).invitations.create({ items });
  const signature = new URL(app.links.invitation(invitation?.key ?? '')).searchParams.get('signature') ?? '';
  app.clock.advance(MINUTE_MS);
  const key = invitation?.key ?? '';
  await app.as(null).invitations.accept({ key, signature, password: 'violet-harbor-92-kite' });

  assert.equal(await grantOf(app, ROOT, email, SALES), {
    app: SALES,
    granted_at: app.clock.now(),
    granted_by: ACME,
    ...ENDLESS,
  });
});

grants('of a user are unknown if nothing recorded them', async ({ app }) => {
  const { apps } = await app.as(ROOT).users.get({ email: ADA });
  const listed = await app.as(ROOT).access.listByUser({ email: ADA });

  assert.ok(apps.length > 0);
  assert.equal(
    listed,
    apps.map((id) => ({ app: id, granted_at: null, granted_by: null, ...ENDLESS })),
  );
});

grants('of a user show each admin those of the clients that they administer', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });

  assert.ok((await grantOf(app, GLOBEX, GRACE, FLEET))?.granted_at);
  assert.equal(fieldOf(await app.as(GLOBEX).access.listByUser({ email: GRACE }), 'app'), [FLEET]);
  assert.equal(fieldOf(await app.as(ACME).access.listByUser({ email: GRACE }), 'app'), [SALES]);
});

grants.run();
