import * as assert from 'uvu/assert';
import { setClient } from '../support/access-views.ts';
import { fieldOf } from '../support/lists.ts';
import { addMember, opens } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowOf, rowsOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const races = appSuite('decisions about access requests at the same time');

races.before(async ({ app }) => {
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
});

const addRequest = async (app: TestApp) => app.as(await addMember(app)).requests.create({ app: CHURN });

const opensChurn = async (app: TestApp, email: string): Promise<boolean> =>
  (await app.as(ACME).users.get({ email })).apps.includes(CHURN);

const closings = async (app: TestApp, target: string): Promise<number> =>
  (await app.as(ACME).audit.list({ target, action: 'access-request.close' })).length;

/** How often the app was granted. */
const grantings = async (app: TestApp, target: string): Promise<number> => {
  const entries = await app.as(ACME).audit.list({ target, action: 'user.change-apps' });
  return entries.filter(({ details }) => JSON.stringify(details.granted) === JSON.stringify([CHURN])).length;
};

/** Runs them together; returns the codes of those that fail, and how many succeed. */
const outcomesOf = async (calls: readonly (() => Promise<unknown>)[]) => {
  const settled = await Promise.allSettled(calls.map((call) => call()));
  const failures = settled.flatMap((outcome) =>
    outcome.status === 'rejected' ? [String(outcome.reason.cause?.code)] : [],
  );
  return { succeeded: settled.length - failures.length, codes: new Set(failures) };
};

races('100 approvals and denials have one outcome, one grant and one mail', async ({ app }) => {
  const { email, id, version } = await addRequest(app);
  const calls = Array.from({ length: 100 }, (_, index) => () => {
    const by = app.as(index % 3 === 0 ? ROOT : ACME).requests;
    return index % 2 === 0 ? by.approve({ id, version }) : by.deny({ id, version });
  });
  const { succeeded, codes } = await outcomesOf(calls);

  assert.is(succeeded, 1);
  assert.equal([...codes], ['request-decided']);
  const { status } = await app.as(email).requests.get({ id });
  assert.is(await opensChurn(app, email), status === 'approved');
  assert.is(await grantings(app, email), status === 'approved' ? 1 : 0);
  await rowOf(app, 'outbox_mails', { kind: 'access-decided', recipient: email });
});

races('approvals beside a suspension leave no access', async ({ app }) => {
  for (let round = 0; round < 10; round += 1) {
    const { email, id, version } = await addRequest(app);
    const approvals = Array.from({ length: 9 }, () => () => app.as(ACME).requests.approve({ id, version }));
    const suspend = () => app.as(ACME).memberships.update({ id: 1, email, is_active: false });
    const { succeeded, codes } = await outcomesOf([...approvals.slice(0, round), suspend, ...approvals]);

    const { status } = await app.as(email).requests.get({ id });
    assert.is(succeeded, status === 'approved' ? 2 : 1);
    assert.equal([...codes], ['request-decided']);
    assert.is(await opensChurn(app, email), false);
    assert.is(await closings(app, email), status === 'closed' ? 1 : 0);
  }
});

races('all ways to an app beside each other leave no pending request with access', async ({ app }) => {
  for (let round = 0; round < 10; round += 1) {
    const { email, id, version } = await addRequest(app);
    const acme = app.as(ACME);
    const { codes } = await outcomesOf([
      () => acme.requests.approve({ id, version }),
      () => acme.grants.create({ app_id: CHURN, email }),
      () => acme.access.update({ id: 1, cells: [{ email, app_id: CHURN, granted: round % 2 === 0 }] }),
      () => acme.groups.create({ id: 1, name: `Round ${round}`, members: [email], apps: [SALES] }),
      () => app.as(ROOT).memberships.update({ id: 1, email, extra: { round } }),
      () => app.as(email).requests.withdraw({ id }),
      () => app.as(email).requests.create({ app: CHURN, reason: 'again' }),
      () => acme.requests.deny({ id, version }),
    ]);

    for (const code of codes) assert.ok(['request-decided', 'invalid-input'].includes(code), code);
    const [latest] = await app.as(email).requests.list({ limit: 1 });
    const isPending = latest?.status === 'pending';
    assert.is(isPending && (await opensChurn(app, email)), false);
  }
});

races('100 requests for one app are one mail to each admin', async ({ app }) => {
  app.clock.advance(3_600_000);
  const people = await Promise.all(Array.from({ length: 20 }, () => addMember(app)));
  const mails = async () => (await rowsOf(app, 'outbox_mails', { kind: 'access-requested' })).length;
  const before = await mails();
  const calls = people.flatMap((email) =>
    Array.from({ length: 5 }, () => () => app.as(email).requests.create({ app: CHURN })),
  );
  const { succeeded } = await outcomesOf(calls);

  assert.is(succeeded, 100);
  assert.is(await mails(), before + 1);
  const pending = await app.as(ACME).requests.list({ status: 'pending', limit: 200 });
  for (const email of people) assert.is(pending.filter((row) => row.email === email).length, 1);
});

const memberships = appSuite('memberships');

memberships('have one outcome if both clients suspend and grant 100 times at once', async ({ app }) => {
  const email = await addMember(app, [FLEET, SALES], ROOT);
  const calls = Array.from({ length: 100 }, (_, index) => {
    const [who, own] = index % 2 === 0 ? [ACME, SALES] : [GLOBEX, FLEET];
    const changes = index % 3 === 0 ? { is_active: index % 4 < 2 } : { apps: [own] };
    return app.as(who).users.update({ email, ...changes });
  });
  // On a slow machine, the last of them get no connection or lock in time, and change nothing.
  for (const outcome of await Promise.allSettled(calls))
    if (outcome.status === 'rejected') assert.is(outcome.reason.cause?.status, 503);

  for (const membership of await app.as(ROOT).memberships.list({ email })) {
    const [who, own] = membership.client === 1 ? [ACME, SALES] : [GLOBEX, FLEET];
    const { is_active, apps } = await app.as(who).users.get({ email });
    assert.is(is_active, membership.is_active);
    assert.is((await opens(app, email)).includes(own), is_active && apps.includes(own));
  }
  assert.is((await app.as(ROOT).users.get({ email })).is_active, true);
});

const offboarding = appSuite('offboarding');

const stateOf = async (app: TestApp, email: string, group_id: number) => {
  const { is_active, apps } = await app.as(ROOT).users.get({ email });
  const { members } = await app.as(ROOT).groups.get({ id: 1, group_id });
  const views = await app.as(ROOT).accessViews.list({ user: email });
  return [is_active, apps, members, fieldOf(views, 'is_active')];
};

offboarding('happens once, however many admins offboard and undo at the same time', async ({ app }) => {
  const email = await addMember(app);
  const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Team', members: [email], apps: [CHURN] });
  await app.as(ACME).accessViews.create({ app: 'sales', user_email: email });
  const offboard = async () => app.as(ACME).users.bulkUpdate({ emails: [email], action: 'offboard' });
  const { operation } = await offboard();
  const runs = Array.from({ length: 100 }, (_, index) =>
    index % 2 === 0 ? app.as(ACME).operations.undo({ id: operation }) : offboard(),
  );

  const results = await Promise.allSettled(runs);

  // All wait for one person, and the last may time out.
  for (const result of results)
    if (result.status === 'rejected') assert.is(result.reason.cause?.code, 'database-unavailable');
  const answers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const undone = answers.flatMap((answer) => ('reverted' in answer ? answer.reverted : []));
  assert.ok(undone.length > 0 && undone.every((reverted) => reverted === 4));
  const again = answers.filter((answer) => 'results' in answer && answer.results[0]?.status === 'ok');
  assert.ok(again.length <= 1, `offboarded ${again.length} times`);
  const expected = again.length === 1 ? [false, [], [], [false]] : [true, [SALES, CHURN], [email], [true]];
  assert.equal(await stateOf(app, email, id), expected);
});

const removals = appSuite('removals of apps and clients');

/** A client with one app, whose id is the name. */
const addClient = async (app: TestApp, name: string): Promise<number> => {
  const site = await app.as(ROOT).sites.create({ domain: `${name}.test`, name });
  const { id } = await app.as(ROOT).clients.create({ name, site: site.id });
  const columns = { slug: name, label: name, created_at: app.clock.now() };
  await addRows(app, 'apps', { id: name, client_id: id, ...columns });
  return id;
};

removals('that meet a grant leave no half of either', async ({ app }) => {
  const root = app.as(ROOT);
  for (let round = 0; round < 5; round += 1) {
    const name = `race000${round}`;
    const id = await addClient(app, name);
    await setClient(app, id, false);
    const email = `${name}@acme.test`;
    const outcomes = await Promise.allSettled([
      root.users.create({ email, apps: [name] }),
      root.clients.remove({ id, confirm_name: name }),
      root.grants.create({ app_id: name, email: ADA }),
    ]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        assert.match(outcome.reason.code, /NOT_FOUND|BAD_REQUEST|SERVICE_UNAVAILABLE/);
    if (outcomes[1].status === 'rejected') await root.clients.remove({ id, confirm_name: name });
    await rejectsWith(root.clients.get({ id }), 'not-found');
    const [user] = await root.users.list({ search: email });
    if (user) assert.is(user.is_active, false);
  }
});

removals('that meet changes of access of the same people do not fail', async ({ app }) => {
  const root = app.as(ROOT);
  for (let round = 0; round < 3; round += 1) {
    const name = `busy000${round}`;
    const id = await addClient(app, name);
    const emails = ['a', 'b', 'c', 'd'].map((letter) => `${letter}-${round}@busy.test`);
    for (const email of emails) await root.users.create({ email, apps: [name, SALES], send_email: false });
    await setClient(app, id, false);
    const changes = [true, false, true].flatMap((granted, n) => [
      root.access.update({ id, cells: emails.map((email) => ({ email, app_id: name, granted })) }),
      root.groups.create({ id, name: `Team ${n}`, members: emails }),
    ]);
    const outcomes = await Promise.allSettled([root.clients.remove({ id, confirm_name: name }), ...changes]);

    assert.is(outcomes[0].status, 'fulfilled');
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.match(outcome.reason.code, /NOT_FOUND|BAD_REQUEST/);
  }
});

races.run();
memberships.run();
offboarding.run();
removals.run();
