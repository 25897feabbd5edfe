import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { createAudit, NO_ORIGIN } from '../../src/services/audit/audit.ts';
import { pruneGrants } from '../../src/services/users/grants.ts';
import { claimsIn, userId } from '../support/access-views.ts';
import { fieldOf } from '../support/lists.ts';
import { addMember, invitationLink, opens } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf, setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { inDays } from '../support/time.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const grants = appSuite('grants');

/** As if time had passed. */
const expire = async (app: TestApp, email: string, app_id: string) => {
  const expires_at = new Date(app.clock.now().getTime() - 1_000);
  await setRows(app, 'app_grants', { app_id, user_id: await userId(app, email) }, { expires_at });
};

const grantOf = async (app: TestApp, who: string, email: string, id: string) =>
  (await app.as(who).access.listByUser({ email })).find((grant) => grant.app === id);

grants('of an app are given with an end and a reason, changed and revoked', async ({ app }) => {
  const email = await addMember(app);
  const [granted_at, end] = [app.clock.now(), inDays(app, 14)];
  const terms = { email, expires_at: end, reason: 'Cover for Ada' };
  const made = await app.as(ACME).grants.create({ app_id: CHURN, ...terms });

  assert.equal(made, {
    ...terms,
    ...{ first_name: '', last_name: '', granted_by: ACME, granted_at, attributes: null, app_roles: [] },
  });
  assert.equal((await opens(app, email)).toSorted(), [CHURN, SALES].toSorted());
  const grant = await grantOf(app, ACME, email, CHURN);
  assert.equal([grant?.expires_at, grant?.reason, grant?.granted_by], [end, 'Cover for Ada', ACME]);

  const later = inDays(app, 28);
  const changed = await app.as(ACME).grants.update({ app_id: CHURN, email, expires_at: later });
  assert.equal([changed.expires_at, changed.reason], [later, 'Cover for Ada']);
  const listed = await app.as(ACME).grants.list({ app_id: CHURN });
  assert.ok(listed.some((row) => row.email === email && row.expires_at?.getTime() === later.getTime()));

  await app.as(ACME).grants.remove({ app_id: CHURN, email });
  await rejectsWith(app.as(ACME).grants.remove({ app_id: CHURN, email }), 'not-found');
  await rejectsWith(app.as(ACME).grants.update({ app_id: CHURN, email, reason: 'x' }), 'not-found');
  assert.equal(await opens(app, email), [SALES]);
  const entries = await app.as(ACME).audit.list({ target: email, limit: 3 });
  assert.equal(fieldOf(entries, 'action'), ['user.change-apps', 'grant.update', 'user.change-apps']);
});

grants('of an app are refused to those who have it, and for the past', async ({ app }) => {
  const email = await addMember(app);
  const { create } = app.as(ACME).grants;

  const twice = await rejectsWith(create({ app_id: SALES, email }), 'invalid-input');
  assert.match(twice.fields?.email?.[0] ?? '', /already has the app/);
  const ended = create({ app_id: CHURN, email, expires_at: inDays(app, -1) });
  const past = await rejectsWith(ended, 'invalid-input');
  assert.equal(past.fields, { expires_at: ['Must be in the future.'] });
});

grants('of an app that have expired count nowhere, and can be given again', async ({ app }) => {
  const email = await addMember(app);
  await app.as(ACME).grants.create({ app_id: CHURN, email, expires_at: inDays(app, 1) });
  await expire(app, email, CHURN);

  assert.equal(await opens(app, email), [SALES]);
  await rejectsWith(app.as(email).apps.openTicket({ app_id: CHURN }), 'not-found');
  assert.equal((await app.as(ACME).users.get({ email })).apps, [SALES]);
  assert.equal(await app.as(ACME).users.count({ app: 'churn', search: email }), { count: 0 });
  const { users } = await app.as(ACME).access.matrix({ id: 1, search: email });
  assert.equal(users[0]?.apps, [SALES]);
  const streamed = (await app.send('GET /jb/clients/1/users/', { as: ACME })).json();
  assert.equal(streamed.find((user: { email: string }) => user.email === email)?.apps, [SALES]);

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
  assert.equal(await rowsOf(app, 'app_grants', { user_id: await userId(app, email) }), []);
});

grants('of an app come back by an undo as they were, unless they would have ended', async ({ app }) => {
  const email = await addMember(app);
  const end = inDays(app, 1);
  await app.as(ACME).grants.create({ app_id: CHURN, email, expires_at: end, reason: 'Audit' });
  const change = { emails: [email], action: 'revoke-apps' as const, apps: [SALES, CHURN] };
  const revoke = async () => (await app.as(ACME).users.bulkUpdate(change)).operation;
  await app.as(ACME).operations.undo({ id: await revoke() });
  const grant = await grantOf(app, ACME, email, CHURN);
  assert.equal([grant?.expires_at, grant?.reason], [end, 'Audit']);

  const id = await revoke();
  await sql`update operation_changes set revoked_terms = replace(revoked_terms::text, ${end.getUTCFullYear()}::text, '2001')::json
    where operation_id = ${id}`.execute(app.db());
  const { reverted, skipped } = await app.as(ACME).operations.undo({ id });

  assert.is(reverted, 1);
  assert.equal([skipped[0]?.app_id, skipped[0]?.problem.code], [CHURN, 'expired']);
  assert.equal((await app.as(ACME).users.get({ email })).apps, [SALES]);
});

grants('of an app are given to many people with one end', async ({ app }) => {
  const emails = [await addMember(app), await addMember(app)];
  const end = inDays(app, 14);
  const update = (input: object) =>
    app.as(ACME).users.bulkUpdate({ emails, action: 'grant-apps', apps: [CHURN], expires_at: end, ...input });
  const { results } = await update({});

  assert.equal(fieldOf(results, 'status'), ['ok', 'ok']);
  for (const email of emails) assert.equal((await grantOf(app, ACME, email, CHURN))?.expires_at, end);
  await rejectsWith(update({ expires_at: inDays(app, -1) }), 'invalid-input');
  await rejectsWith(update({ action: 'deactivate', apps: undefined }), 'invalid-input');
});

grants('of an app are given once by parallel requests', async ({ app }) => {
  const email = await addMember(app);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, () => app.as(ACME).grants.create({ app_id: CHURN, email })),
  );

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
});

grants('of an app are revoked beside a group that gives the same app', async ({ app }) => {
  const email = await addMember(app);
  await app.as(ACME).groups.create({ id: 1, name: 'Beside', members: [email], apps: [SALES] });
  await app.as(ACME).grants.remove({ app_id: SALES, email });

  const { paths, allowed } = await app.as(ACME).access.explain({ email, app_id: SALES });
  assert.equal([allowed, paths.map(({ kind }) => kind)], [true, ['group']]);
  await rejectsWith(app.as(ACME).grants.remove({ app_id: SALES, email }), 'not-found');
});

grants('of an app that end soon are listed, and extended together', async ({ app }) => {
  const [soon, later] = [inDays(app, 1), inDays(app, 60)];
  const [one, two] = [await addMember(app), await addMember(app, [SALES, FLEET], ROOT)];
  const named = [
    { app_id: SALES, email: one },
    { app_id: SALES, email: two },
    { app_id: FLEET, email: two },
  ];
  await app.as(ROOT).grants.extend({ grants: named, expires_at: soon });
  const listed = async (who: string, client?: number) =>
    (await app.as(who).grants.listEnding({ client }))
      .map(({ app_id, email }) => ({ app_id, email }))
      .filter(({ email }) => [one, two].includes(email));

  assert.equal(await listed(ACME), named.slice(0, 2));
  assert.equal(await listed(GLOBEX), named.slice(2));
  assert.equal([await listed(ROOT, 1), await listed(ROOT, 2)], [named.slice(0, 2), named.slice(2)]);
  const group = { id: 1, name: 'Kept', members: [one], apps: [SALES] };
  const { id: group_id } = await app.as(ACME).groups.create(group);
  assert.equal(await listed(ACME), named.slice(1, 2), 'a group gives the other on');
  await app.as(ACME).groups.remove({ id: 1, group_id });
  await rejectsWith(app.as(ADA).grants.listEnding({}), 'forbidden');
  const { results } = await app.as(ACME).grants.extend({ grants: named, expires_at: later });
  const codes = results.map(({ status, problem }) => problem?.code ?? status);
  assert.equal(codes, ['ok', 'ok', 'not-found']);
  assert.equal([await listed(ACME), await listed(GLOBEX)], [[], named.slice(2)]);
  const past = app.as(ACME).grants.extend({ grants: named, expires_at: new Date(0) });
  await rejectsWith(past, 'invalid-input');
});

const ENDLESS = { expires_at: null, reason: '' };

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
  app.clock.advance(MINUTE_MS);
  const link = invitationLink(app, invitation?.key ?? '');
  await app.as(null).invitations.accept({ ...link, password: 'violet-harbor-92-kite' });

  assert.equal(await grantOf(app, ROOT, email, SALES), {
    app: SALES,
    granted_at: app.clock.now(),
    granted_by: ACME,
    ...ENDLESS,
  });
});

grants('of a user are unknown if nothing recorded them', async ({ app }) => {
  const unknown = { granted_at: null, granted_by: null, ...ENDLESS };

  assert.equal(await app.as(ROOT).access.listByUser({ email: ADA }), [
    { app: SALES, ...unknown },
    { app: CHURN, ...unknown },
  ]);
});

grants('of a user show each admin those of the clients that they administer', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });

  assert.ok((await grantOf(app, GLOBEX, GRACE, FLEET))?.granted_at);
  for (const [who, own] of [
    [GLOBEX, FLEET],
    [ACME, SALES],
  ] as const)
    assert.equal(fieldOf(await app.as(who).access.listByUser({ email: GRACE }), 'app'), [own]);
});

grants.run();
