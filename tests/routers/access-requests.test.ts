import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const requests = appSuite('access requests');

/** Grants end by the clock of the database. */
requests.before(async ({ app }) => {
  await app.as(ROOT).apps.update({ app_id: FLEET, is_requestable: true });
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
});

/** Mails about requests of earlier tests would be too recent. */
requests.before.each(({ app }) => app.clock.advance(11 * MINUTE_MS));

let created = 0;

/** A new member of Acme, or of both clients, without an app that can be asked for. */
const addMember = async (app: TestApp, { isShared = false } = {}): Promise<string> => {
  created += 1;
  const email = `asking-${created}@acme.test`;
  await app.as(ACME).users.create({ email, apps: [SALES], send_email: false });
  if (isShared)
    await sql`insert into memberships (client_id, user_id) select 2, id from users where email = ${email}`.execute(
      app.db(),
    );
  return email;
};

const ask = (app: TestApp, email: string, input: { app?: string; reason?: string; days?: number } = {}) =>
  app.as(email).requests.create({ app: CHURN, ...input });

const statusOf = async (app: TestApp, email: string, id: number): Promise<string> =>
  (await app.as(email).requests.get({ id })).status;

const opens = async (app: TestApp, email: string): Promise<string[]> =>
  (await app.as(email).apps.list({})).map(({ id }) => id);

const actionsFor = async (app: TestApp, target: string): Promise<string[]> =>
  (await app.as(ACME).audit.list({ target, limit: 20 }))
    .map(({ action }) => action)
    .filter((action) => action.startsWith('access-request.'))
    .toReversed();

const mailsAbout = async (app: TestApp, id: number) => {
  const rows = await app
    .db()
    .selectFrom('outbox_mails')
    .select(['id', 'kind', 'recipient', 'client_id'])
    .where('access_request_id', '=', id)
    .orderBy('id')
    .execute();
  return Promise.all(
    rows.map(async (row) => ({ ...row, ...(await app.as(ROOT).mail.get({ id: Number(row.id) })) })),
  );
};

requests('are for requestable apps of clients of the person that they cannot open', async ({ app }) => {
  const email = await addMember(app);
  const requestable = async () => (await app.as(email).requests.requestable()).map(({ id }) => id);

  assert.equal(await requestable(), [CHURN]);
  for (const id of [SALES, FLEET, 'nothing1'])
    await rejectsWith(ask(app, email, { app: id }), 'invalid-input');
  const request = await ask(app, email);
  assert.equal(fieldOf(await app.as(email).requests.requestable(), 'is_pending'), [true]);

  await app.as(ACME).requests.approve({ id: request.id, version: request.version });
  assert.equal(await requestable(), []);
  await rejectsWith(ask(app, email), 'invalid-input');
  for (const who of [ACME, STAFF, ROOT]) {
    assert.equal(await app.as(who).requests.requestable(), [], who);
    await rejectsWith(ask(app, who), 'invalid-input');
  }
});

requests('are not for apps of closed clients, nor for suspended members', async ({ app }) => {
  const email = await addMember(app);
  await app.as(ROOT).clients.updateGate({ id: 1, is_open: false });
  await rejectsWith(ask(app, email), 'invalid-input');
  await app.as(ROOT).clients.updateGate({ id: 1, is_open: true });
  await app.as(ACME).memberships.update({ id: 1, email, is_active: false });

  await rejectsWith(ask(app, email), 'invalid-input');
  assert.equal(await app.as(email).requests.requestable(), []);
});

requests('are for apps whose admins allow it', async ({ app }) => {
  await rejectsWith(app.as(ADA).apps.update({ app_id: CHURN, is_requestable: false }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).apps.update({ app_id: CHURN, is_requestable: false }), 'not-found');
  const email = await addMember(app);
  const pending = await ask(app, email);
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: false });

  assert.is((await app.as(ACME).apps.status({ app_id: CHURN })).is_requestable, false);
  assert.equal(fieldsOf((await app.as(ACME).access.matrix({ id: 1 })).apps, 'id', 'is_requestable'), [
    [SALES, false],
    [CHURN, false],
  ]);
  const other = await addMember(app);
  await rejectsWith(ask(app, other), 'invalid-input');
  await app.as(ACME).requests.approve({ id: pending.id, version: pending.version });
  assert.ok((await opens(app, email)).includes(CHURN));
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
});

requests('that are approved are grants with the end and the reason that were asked for', async ({ app }) => {
  const email = await addMember(app);
  const payload = { app: CHURN, reason: 'Year-end closing', days: 14 };
  const answer = await app.send('POST /jb/access-requests/', { as: email, payload });

  assert.is(answer.statusCode, 201);
  const { id, version, ...asked } = answer.json();
  assert.equal(
    [asked.email, asked.app, asked.client, asked.status, asked.reason, asked.days, asked.can_decide],
    [email, CHURN, 1, 'pending', 'Year-end closing', 14, false],
  );
  const listed = await app.send('GET /jb/access-requests/?status=pending&client=1', { as: ACME });
  assert.equal(listed.json().map((row: { id: number; can_decide: boolean }) => [row.id, row.can_decide])[0], [
    id,
    true,
  ]);

  const decision = { version, reason: 'Until the books are closed' };
  const approved = await app.send(`POST /jb/access-requests/${id}/approve/`, {
    as: ACME,
    payload: decision,
  });
  assert.is(approved.statusCode, 200);
  const end = new Date(app.clock.now().getTime() + 14 * DAY_MS);
  const { status, decided_by, decision_reason, expires_at } = approved.json();
  assert.equal(
    [status, decided_by, decision_reason, expires_at],
    ['approved', ACME, decision.reason, end.toISOString()],
  );
  const grants = await app.as(ACME).grants.list({ app_id: CHURN, limit: 200 });
  const grant = grants.find((row) => row.email === email);
  assert.equal([grant?.granted_by, grant?.reason, grant?.expires_at], [ACME, 'Year-end closing', end]);
  assert.ok((await opens(app, email)).includes(CHURN));
  assert.equal(await actionsFor(app, email), ['access-request.create', 'access-request.approve']);
});

requests('are approved with another end, or none', async ({ app }) => {
  const [one, two] = [await addMember(app), await addMember(app)];
  const first = await ask(app, one, { days: 5 });
  const second = await ask(app, two, { days: 5 });
  const end = new Date(app.clock.now().getTime() + DAY_MS);
  const past = new Date(app.clock.now().getTime() - DAY_MS);
  const approve = (request: { id: number; version: number }, expires_at: Date | null) =>
    app.as(ACME).requests.approve({ id: request.id, version: request.version, expires_at });

  const refused = await rejectsWith(approve(first, past), 'invalid-input');
  assert.equal(refused.fields, { expires_at: ['Must be in the future.'] });
  assert.is(await statusOf(app, one, first.id), 'pending');
  assert.equal((await approve(first, end)).expires_at, end);
  assert.is((await approve(second, null)).expires_at, null);
});

requests('that are denied or withdrawn grant nothing, and can be made again', async ({ app }) => {
  const email = await addMember(app);
  const { id, version } = await ask(app, email);
  const answer = await app.send(`POST /jb/access-requests/${id}/deny/`, {
    as: ACME,
    payload: { version, reason: 'Ask next year' },
  });
  assert.equal([answer.json().status, answer.json().decision_reason], ['denied', 'Ask next year']);
  const again = await ask(app, email);
  const withdrawn = await app.send(`POST /jb/access-requests/${again.id}/withdraw/`, { as: email });

  assert.is(withdrawn.json().status, 'withdrawn');
  assert.equal(await opens(app, email), [SALES]);
  assert.equal(fieldOf(await app.as(email).requests.list({}), 'status'), ['withdrawn', 'denied']);
  await rejectsWith(app.as(email).requests.withdraw({ id }), 'request-decided');
  const decided = await rejectsWith(app.as(ACME).requests.approve({ id, version }), 'request-decided');
  assert.is(decided.status, 409);
  assert.is(decided.message, `This request was denied by ${ACME}.`);
});

requests('that the person has changed need a decision about the new version', async ({ app }) => {
  const email = await addMember(app);
  const first = await ask(app, email, { reason: 'one day', days: 1 });
  const second = await ask(app, email, { reason: 'a year', days: 365 });

  assert.equal([second.id, second.version, second.days], [first.id, first.version + 1, 365]);
  assert.equal(await ask(app, email, { reason: 'a year', days: 365 }), second, 'sent twice');
  assert.equal(await actionsFor(app, email), ['access-request.create', 'access-request.create']);
  const stale = await rejectsWith(
    app.as(ACME).requests.approve({ id: first.id, version: first.version }),
    'request-decided',
  );
  assert.match(stale.message, /has changed this request/);
  await app.as(ACME).requests.approve({ id: second.id, version: second.version });
});

requests('are decided by admins of the client and superusers only', async ({ app }) => {
  const email = await addMember(app, { isShared: true });
  const { id, version } = await ask(app, email);
  for (const decide of ['approve', 'deny'] as const) {
    const as = (who: string) => app.as(who).requests[decide]({ id, version });
    await rejectsWith(as(GLOBEX), 'not-found');
    for (const who of [ADA, STAFF, email]) await rejectsWith(as(who), 'forbidden');
  }
  for (const who of [GLOBEX, ADA]) {
    await rejectsWith(app.as(who).requests.get({ id }), 'not-found');
    await rejectsWith(app.as(who).requests.withdraw({ id }), 'not-found');
    assert.not.ok(
      (await app.as(who).requests.list({})).some((row) => row.id === id),
      who,
    );
  }
  await rejectsWith(app.as(ACME).requests.withdraw({ id }), 'not-found');
  assert.is((await app.as(STAFF).requests.get({ id })).can_decide, false);

  const { decided_by } = await app.as(ROOT).requests.approve({ id, version });
  assert.is(decided_by, ROOT);
});

requests('are decided by nobody for themselves, also not by a superuser', async ({ app }) => {
  const email = await addMember(app);
  const { id, version } = await ask(app, email);
  // As an older version of Steward does it, which closes no requests.
  await sql`update users set is_superuser = true where email = ${email}`.execute(app.db());

  for (const decide of ['approve', 'deny'] as const) {
    const refusal = await rejectsWith(app.as(email).requests[decide]({ id, version }), 'self-modification');
    assert.is(refusal.status, 403);
  }
  assert.is((await app.as(email).requests.get({ id })).can_decide, false);
  await sql`update users set is_superuser = false where email = ${email}`.execute(app.db());
  assert.is((await app.as(ACME).requests.deny({ id, version })).status, 'denied');
});

requests('are closed when the person is suspended, in this client only', async ({ app }) => {
  const email = await addMember(app, { isShared: true });
  const [ofAcme, ofGlobex] = [await ask(app, email), await ask(app, email, { app: FLEET })];
  await app.as(ACME).users.update({ email, is_active: false });

  const closed = await app.as(ACME).requests.get({ id: ofAcme.id });
  assert.equal([closed.status, closed.decided_by], ['closed', ACME]);
  assert.is(await statusOf(app, GLOBEX, ofGlobex.id), 'pending');
  assert.equal(await actionsFor(app, email), ['access-request.create', 'access-request.close']);
  const decided = await rejectsWith(
    app.as(ACME).requests.approve({ id: ofAcme.id, version: ofAcme.version }),
    'request-decided',
  );
  assert.match(decided.message, /was closed by/);
});

requests('are closed when the person leaves the client, and seen by neither any more', async ({ app }) => {
  const email = await addMember(app, { isShared: true });
  const [ofAcme, ofGlobex] = [await ask(app, email), await ask(app, email, { app: FLEET })];
  await app.as(ACME).memberships.remove({ id: 1, email });

  await rejectsWith(app.as(ACME).requests.get({ id: ofAcme.id }), 'not-found');
  await rejectsWith(app.as(email).requests.get({ id: ofAcme.id }), 'not-found');
  assert.is(await statusOf(app, email, ofGlobex.id), 'pending');
  assert.equal(await actionsFor(app, email), ['access-request.create', 'access-request.close']);
  const [mail] = await mailsAbout(app, ofAcme.id);
  assert.not.match(mail?.text ?? '', /asking/);
});

requests('are closed when the account is deactivated, by any way', async ({ app }) => {
  const [one, two, three] = [await addMember(app), await addMember(app), await addMember(app)];
  const ids = [await ask(app, one), await ask(app, two), await ask(app, three)].map(({ id }) => id);
  await app.as(ACME).users.deactivate({ email: one });
  const { operation } = await app.as(ACME).users.bulkUpdate({ emails: [two], action: 'deactivate' });
  await app.as(ROOT).memberships.remove({ id: 1, email: three });
  await app.as(ACME).operations.undo({ id: operation });

  const rows = await app.as(ROOT).requests.list({ limit: 200 });
  const statuses = rows.filter(({ id }) => ids.includes(id)).map(({ status }) => status);
  assert.equal(statuses, ['closed', 'closed']);
  assert.equal(await actionsFor(app, one), ['access-request.create', 'access-request.close']);
});

requests('are closed when the person gets the app or a role in another way', async ({ app }) => {
  const people = [];
  for (let count = 0; count < 5; count += 1) people.push(await addMember(app));
  const ids = [];
  for (const email of people) ids.push((await ask(app, email)).id);
  const [granted = '', inMatrix = '', inGroup = '', later = '', admin = ''] = people;
  await app.as(ACME).grants.create({ app_id: CHURN, email: granted });
  await app.as(ACME).access.update({ id: 1, cells: [{ email: inMatrix, app_id: CHURN, granted: true }] });
  await app.as(ACME).groups.create({ id: 1, name: 'Askers', members: [inGroup], apps: [CHURN] });
  const group = await app.as(ACME).groups.create({ id: 1, name: 'Later', members: [later], apps: [] });
  assert.is(await statusOf(app, later, ids[3] ?? 0), 'pending');
  await app.as(ACME).groups.update({ id: 1, group_id: group.id, apps: [CHURN] });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: admin, is_admin: true });

  for (const [index, email] of people.entries())
    assert.is(await statusOf(app, email, ids[index] ?? 0), 'closed', email);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: admin, is_admin: false });
});

requests('are closed by what their own client does alone, and name nobody of another', async ({ app }) => {
  const email = await addMember(app, { isShared: true });
  const { id } = await ask(app, email);
  // As if the group had got the app at the same moment: the request is obsolete, and still pending.
  const group = await app.as(ACME).groups.create({ id: 1, name: `Asked at once ${id}`, members: [email] });
  await sql`insert into group_apps (group_id, app_id, added_at) values (${group.id}, ${CHURN}, ${app.clock.now()}::timestamptz)`.execute(
    app.db(),
  );

  await app.as(GLOBEX).users.update({ email, apps: [FLEET] });
  await app.as(GLOBEX).memberships.update({ id: 2, email, is_active: false });
  await app.as(GLOBEX).memberships.remove({ id: 2, email });

  assert.is(await statusOf(app, email, id), 'pending');
  assert.not.ok((await actionsFor(app, email)).includes('access-request.close'));
});

requests('mail the admins of the client, once for an app within ten minutes', async ({ app }) => {
  const [one, two] = [await addMember(app), await addMember(app)];
  const first = await ask(app, one, { reason: 'Year-end closing\nand audit', days: 14 });
  const second = await ask(app, two);
  const mails = await mailsAbout(app, first.id);

  assert.equal(fieldsOf(mails, 'kind', 'recipient', 'client_id'), [['access-requested', ACME, 1]]);
  assert.match(mails[0]?.text ?? '', `${one} asks for access to Churn for 14 days.`);
  assert.match(mails[0]?.text ?? '', 'Reason: Year-end closing\nand audit');
  assert.equal(await mailsAbout(app, second.id), []);

  const retry = () => app.as(ACME).mail.retry({ id: Number(mails[0]?.id) });
  await app.as(one).requests.withdraw({ id: first.id });
  await retry();
  await sql`update access_requests set status = 'closed' where status = 'pending'`.execute(app.db());
  const refused = await rejectsWith(retry(), 'invalid-input');
  assert.equal(refused.fields, { id: ['No request for this app is pending any more.'] });

  app.clock.advance(11 * MINUTE_MS);
  assert.is((await mailsAbout(app, (await ask(app, one)).id)).length, 1);
});

requests('are not mailed to admins who have lost the role, nor for people who have left', async ({ app }) => {
  const [email, admin] = [await addMember(app), await addMember(app)];
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: admin, is_admin: true });
  const { id } = await ask(app, email);
  const mails = await mailsAbout(app, id);
  assert.equal(fieldOf(mails, 'recipient'), [ACME, admin]);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: admin, is_admin: false });
  const retry = (index: number) => app.as(ROOT).mail.retry({ id: Number(mails[index]?.id) });

  const refused = await rejectsWith(retry(1), 'invalid-input');
  assert.equal(refused.fields, { id: ['The recipient is no admin of the client any more.'] });
  await retry(0);
  await app.as(ACME).memberships.remove({ id: 1, email });
  const other = await addMember(app);
  await ask(app, other);
  assert.not.match((await retry(0)).text, email);
});

requests('mail the person the decision, with the end and the word', async ({ app }) => {
  const [one, two] = [await addMember(app), await addMember(app)];
  const [first, second] = [await ask(app, one), await ask(app, two)];
  const expires_at = new Date('2040-01-31T12:00:00Z');
  await app.as(ACME).requests.approve({ ...first, expires_at, reason: 'Until the closing' });
  await app.as(ACME).requests.deny({ ...second, reason: 'Ask next year' });

  const [, approval] = await mailsAbout(app, first.id);
  assert.equal([approval?.kind, approval?.recipient], ['access-decided', one]);
  assert.match(approval?.text ?? '', 'You can open Churn now, until 31 January 2040, 12:00 (UTC).');
  assert.match(approval?.text ?? '', 'Your administrator wrote: Until the closing');
  const denial = (await mailsAbout(app, second.id)).at(-1);
  assert.match(denial?.text ?? '', 'Your request for access to Churn was denied.');
  assert.match(denial?.text ?? '', 'Ask next year');
  assert.not.ok((await app.as(GLOBEX).mail.list({ recipient: one })).length);
});

requests('are listed by status, person and app, a page at a time', async ({ app }) => {
  const email = await addMember(app, { isShared: true });
  const [one, two] = [await ask(app, email), await ask(app, email, { app: FLEET })];
  const idsOf = (rows: { id: number }[]) => rows.map(({ id }) => id);
  const own = app.as(email).requests;

  assert.equal(idsOf(await own.list({})), [two.id, one.id]);
  assert.equal(idsOf(await own.list({ limit: 1 })), [two.id]);
  assert.equal(idsOf(await own.list({ limit: 1, cursor: two.id })), [one.id]);
  assert.equal(idsOf(await app.as(ROOT).requests.list({ email, app: FLEET })), [two.id]);
  assert.equal(idsOf(await app.as(ACME).requests.list({ email })), [one.id]);
  assert.equal(idsOf(await app.as(ACME).requests.list({ email, status: 'approved' })), []);
  assert.equal(await app.as(EDSGER).requests.list({ email }), []);
});

requests.run();
