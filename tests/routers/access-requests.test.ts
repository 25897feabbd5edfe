import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { setClient, userId } from '../support/access-views.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { outboxOf } from '../support/mails.ts';
import { addMember, opens } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowOf, rowsOf, setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { inDays } from '../support/time.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const requests = appSuite('access requests');

requests.before(async ({ app }) => {
  for (const app_id of [FLEET, CHURN]) await app.as(ROOT).apps.update({ app_id, is_requestable: true });
});

/** Mails about requests of earlier tests would be too recent. */
requests.before.each(({ app }) => app.clock.advance(11 * MINUTE_MS));

/** A new member of both clients. */
const addShared = async (app: TestApp): Promise<string> => {
  const email = await addMember(app);
  await addRows(app, 'memberships', { client_id: 2, user_id: await userId(app, email) });
  return email;
};

const setAdmin = (app: TestApp, email: string, is_admin: boolean) =>
  app.as(ROOT).roles.setClientAdmin({ id: 1, email, is_admin });

const ask = (app: TestApp, email: string, input: { app?: string; reason?: string; days?: number } = {}) =>
  app.as(email).requests.create({ app: CHURN, ...input });

const statusOf = async (app: TestApp, email: string, id: number): Promise<string> =>
  (await app.as(email).requests.get({ id })).status;

const actionsFor = async (app: TestApp, target: string): Promise<string[]> =>
  (await app.as(ACME).audit.list({ target, limit: 20 }))
    .map(({ action }) => action)
    .filter((action) => action.startsWith('access-request.'))
    .toReversed();

const mailsAbout = async (app: TestApp, access_request_id: number) => {
  const rows = await rowsOf(app, 'outbox_mails', { access_request_id });
  return Promise.all(
    rows.map(async ({ id, kind, recipient, client_id }) => {
      const { text } = await app.as(ROOT).mail.get({ id: Number(id) });
      return { id: Number(id), kind, recipient, client_id, text };
    }),
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
  await setClient(app, 1, false);
  await rejectsWith(ask(app, email), 'invalid-input');
  await setClient(app, 1, true);
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

  await rejectsWith(ask(app, await addMember(app)), 'invalid-input');
  await app.as(ACME).requests.approve({ id: pending.id, version: pending.version });
  assert.ok((await opens(app, email)).includes(CHURN));
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
});

requests('that are approved are grants with the end and the reason that were asked for', async ({ app }) => {
  const email = await addMember(app);
  const { id, version, ...asked } = await ask(app, email, { reason: 'Year-end closing', days: 14 });
  assert.equal([asked.email, asked.app, asked.client, asked.status], [email, CHURN, 1, 'pending']);
  assert.equal([asked.reason, asked.days, asked.can_decide], ['Year-end closing', 14, false]);
  const [listed] = await app.as(ACME).requests.list({ status: 'pending', client: 1 });
  assert.equal([listed?.id, listed?.can_decide], [id, true]);

  const decision = { id, version, reason: 'Until the books are closed' };
  const approved = await app.as(ACME).requests.approve(decision);
  const end = inDays(app, 14);
  assert.equal([approved.status, approved.decided_by, approved.expires_at], ['approved', ACME, end]);
  assert.is(approved.decision_reason, decision.reason);
  const grants = await app.as(ACME).grants.list({ app_id: CHURN, limit: 200 });
  const grant = grants.find((row) => row.email === email);
  assert.equal([grant?.granted_by, grant?.reason, grant?.expires_at], [ACME, 'Year-end closing', end]);
  assert.ok((await opens(app, email)).includes(CHURN));
  assert.equal(await actionsFor(app, email), ['access-request.create', 'access-request.approve']);
});

requests('are approved with another end, or none', async ({ app }) => {
  const [one, two] = [await addMember(app), await addMember(app)];
  const [first, second] = [await ask(app, one, { days: 5 }), await ask(app, two, { days: 5 })];
  const approve = ({ id, version }: typeof first, expires_at: Date | null) =>
    app.as(ACME).requests.approve({ id, version, expires_at });

  const refused = await rejectsWith(approve(first, inDays(app, -1)), 'invalid-input');
  assert.equal(refused.fields, { expires_at: ['Must be in the future.'] });
  assert.is(await statusOf(app, one, first.id), 'pending');
  assert.equal((await approve(first, inDays(app, 1))).expires_at, inDays(app, 1));
  assert.is((await approve(second, null)).expires_at, null);
});

requests('that are denied or withdrawn grant nothing, and can be made again', async ({ app }) => {
  const email = await addMember(app);
  const { id, version } = await ask(app, email);
  const denied = await app.as(ACME).requests.deny({ id, version, reason: 'Ask next year' });
  assert.equal([denied.status, denied.decision_reason], ['denied', 'Ask next year']);
  const again = await ask(app, email);
  await app.as(email).requests.withdraw({ id: again.id });

  assert.equal(await opens(app, email), [SALES]);
  assert.equal(fieldOf(await app.as(email).requests.list({}), 'status'), ['withdrawn', 'denied']);
  await rejectsWith(app.as(email).requests.withdraw({ id }), 'request-decided');
  const decided = await rejectsWith(app.as(ACME).requests.approve({ id, version }), 'request-decided');
  assert.equal([decided.status, decided.message], [409, `This request was denied by ${ACME}.`]);
});

requests('that the person has changed need a decision about the new version', async ({ app }) => {
  const email = await addMember(app);
  const first = await ask(app, email, { reason: 'one day', days: 1 });
  const second = await ask(app, email, { reason: 'a year', days: 365 });

  assert.equal([second.id, second.version, second.days], [first.id, first.version + 1, 365]);
  assert.equal(await ask(app, email, { reason: 'a year', days: 365 }), second, 'sent twice');
  assert.equal(await actionsFor(app, email), ['access-request.create', 'access-request.create']);
  const approve = ({ id, version }: typeof first) => app.as(ACME).requests.approve({ id, version });
  const stale = await rejectsWith(approve(first), 'request-decided');
  assert.match(stale.message, /has changed this request/);
  await approve(second);
});

requests('are decided by admins of the client and superusers only', async ({ app }) => {
  const email = await addShared(app);
  const { id, version } = await ask(app, email);
  for (const decide of ['approve', 'deny'] as const) {
    const as = (who: string) => app.as(who).requests[decide]({ id, version });
    await rejectsWith(as(GLOBEX), 'not-found');
    for (const who of [ADA, STAFF, email]) await rejectsWith(as(who), 'forbidden');
  }
  for (const who of [GLOBEX, ADA]) {
    await rejectsWith(app.as(who).requests.get({ id }), 'not-found');
    await rejectsWith(app.as(who).requests.withdraw({ id }), 'not-found');
    assert.not.ok(fieldOf(await app.as(who).requests.list({}), 'id').includes(id), who);
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
  await setRows(app, 'users', { email }, { is_superuser: true });

  for (const decide of ['approve', 'deny'] as const)
    await rejectsWith(app.as(email).requests[decide]({ id, version }), 'self-modification');
  assert.is((await app.as(email).requests.get({ id })).can_decide, false);
  await setRows(app, 'users', { email }, { is_superuser: false });
  assert.is((await app.as(ACME).requests.deny({ id, version })).status, 'denied');
});

const ENDS: Record<string, (app: TestApp, email: string) => Promise<unknown>> = {
  'is suspended': (app, email) => app.as(ACME).users.update({ email, is_active: false }),
  'leaves the client': (app, email) => app.as(ACME).memberships.remove({ id: 1, email }),
};

for (const [what, end] of Object.entries(ENDS))
  requests(`are closed when the person ${what}, in this client only`, async ({ app }) => {
    const email = await addShared(app);
    const [{ id, version }, ofGlobex] = [await ask(app, email), await ask(app, email, { app: FLEET })];
    await end(app, email);

    const { status, decided_by } = await rowOf(app, 'access_requests', { id });
    assert.equal([status, decided_by], ['closed', await userId(app, ACME)]);
    assert.is(await statusOf(app, GLOBEX, ofGlobex.id), 'pending');
    assert.equal(await actionsFor(app, email), ['access-request.create', 'access-request.close']);
    const isHidden = what === 'leaves the client';
    const approval = app.as(ACME).requests.approve({ id, version });
    await rejectsWith(approval, isHidden ? 'not-found' : 'request-decided');
    if (isHidden) await rejectsWith(app.as(email).requests.get({ id }), 'not-found');
    const [mail] = await mailsAbout(app, id);
    assert.is(mail?.text.includes(email), !isHidden, 'nor in sent mails');
  });

requests('are closed when the person is deactivated, or gets the app or a role', async ({ app }) => {
  const acme = app.as(ACME);
  const undone = async (email: string) => {
    const { operation } = await acme.users.bulkUpdate({ emails: [email], action: 'deactivate' });
    await acme.operations.undo({ id: operation });
  };
  const giveGroup = async (email: string) => {
    const group = await acme.groups.create({ id: 1, name: 'Later', members: [email], apps: [] });
    await acme.groups.update({ id: 1, group_id: group.id, apps: [CHURN] });
  };
  const admit = async (email: string) => {
    await setAdmin(app, email, true);
    await setAdmin(app, email, false);
  };
  for (const end of [
    (email: string) => acme.users.deactivate({ email }),
    undone,
    (email: string) => acme.grants.create({ app_id: CHURN, email }),
    (email: string) => acme.access.update({ id: 1, cells: [{ email, app_id: CHURN, granted: true }] }),
    (email: string) => acme.groups.create({ id: 1, name: 'Askers', members: [email], apps: [CHURN] }),
    giveGroup,
    admit,
  ]) {
    const email = await addMember(app);
    const { id } = await ask(app, email);
    await end(email);

    assert.is((await rowOf(app, 'access_requests', { id })).status, 'closed', String(end));
  }
});

requests('are closed by what their own client does alone, and name nobody of another', async ({ app }) => {
  const email = await addShared(app);
  const { id } = await ask(app, email);
  // As if the group had got the app at the same moment: the request is obsolete, and still pending.
  const group = await app.as(ACME).groups.create({ id: 1, name: 'At once', members: [email] });
  await addRows(app, 'group_apps', { group_id: group.id, app_id: CHURN, added_at: app.clock.now() });

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

  const retry = () => app.as(ACME).mail.retry({ id: mails[0]?.id ?? 0 });
  await app.as(one).requests.withdraw({ id: first.id });
  await retry();
  await setRows(app, 'access_requests', { status: 'pending' }, { status: 'closed' });
  const refused = await rejectsWith(retry(), 'invalid-input');
  assert.equal(refused.fields, { id: ['There is no longer a pending request for this app.'] });
  await outboxOf(app).claim(20);
  assert.equal(await app.as(ACME).mail.list({ status: 'failed', recipient: ACME }), []);

  app.clock.advance(11 * MINUTE_MS);
  assert.is((await mailsAbout(app, (await ask(app, one)).id)).length, 1);
});

requests('are not mailed to admins who have lost the role, nor for people who have left', async ({ app }) => {
  const [email, admin] = [await addMember(app), await addMember(app)];
  await setAdmin(app, admin, true);
  const { id } = await ask(app, email);
  const mails = await mailsAbout(app, id);
  assert.equal(fieldOf(mails, 'recipient'), [ACME, admin]);
  await setAdmin(app, admin, false);
  const retry = (index: number) => app.as(ROOT).mail.retry({ id: mails[index]?.id ?? 0 });

  const refused = await rejectsWith(retry(1), 'invalid-input');
  assert.equal(refused.fields, { id: ['The recipient is no longer an admin of the client.'] });
  await retry(0);
  await app.as(ACME).memberships.remove({ id: 1, email });
  await ask(app, await addMember(app));
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
  const email = await addShared(app);
  const [one, two] = [await ask(app, email), await ask(app, email, { app: FLEET })];
  const idsOf = async (rows: Promise<{ id: number }[]>) => fieldOf(await rows, 'id');
  const own = app.as(email).requests;

  assert.equal(await idsOf(own.list({})), [two.id, one.id]);
  assert.equal(await idsOf(own.list({ limit: 1 })), [two.id]);
  assert.equal(await idsOf(own.list({ limit: 1, cursor: two.id })), [one.id]);
  assert.equal(await idsOf(app.as(ROOT).requests.list({ email, app: FLEET })), [two.id]);
  assert.equal(await idsOf(app.as(ACME).requests.list({ email })), [one.id]);
  assert.equal(await idsOf(app.as(ACME).requests.list({ email, status: 'approved' })), []);
  assert.equal(await app.as(EDSGER).requests.list({ email }), []);
});

requests.run();
