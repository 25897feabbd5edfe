import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { setClient } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const races = appSuite('decisions about access requests at the same time');

races.before(async ({ app }) => {
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
});

let created = 0;

const addMember = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `racing-${created}@acme.test`;
  await app.as(ACME).users.create({ email, apps: [SALES], send_email: false });
  return email;
};

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
  const mails = app.db().selectFrom('outbox_mails').select('id').where('kind', '=', 'access-decided');
  assert.is((await mails.where('recipient', '=', email).execute()).length, 1);
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

races(
  'requests, grants, groups and withdrawals beside each other leave no pending request with access',
  async ({ app }) => {
    for (let round = 0; round < 10; round += 1) {
      const { email, id, version } = await addRequest(app);
      const { codes } = await outcomesOf([
        () => app.as(ACME).requests.approve({ id, version }),
        () => app.as(ACME).grants.create({ app_id: CHURN, email }),
        () =>
          app.as(ACME).access.update({ id: 1, cells: [{ email, app_id: CHURN, granted: round % 2 === 0 }] }),
        () => app.as(ACME).groups.create({ id: 1, name: `Round ${round}`, members: [email], apps: [SALES] }),
        () => app.as(ROOT).memberships.update({ id: 1, email, extra: { round } }),
        () => app.as(email).requests.withdraw({ id }),
        () => app.as(email).requests.create({ app: CHURN, reason: 'again' }),
        () => app.as(ACME).requests.deny({ id, version }),
      ]);

      for (const code of codes) assert.ok(['request-decided', 'invalid-input'].includes(code), code);
      const [latest] = await app.as(email).requests.list({ limit: 1 });
      const isPending = latest?.status === 'pending';
      assert.is(isPending && (await opensChurn(app, email)), false);
    }
  },
);

races('100 requests for one app are one mail to each admin', async ({ app }) => {
  app.clock.advance(3_600_000);
  const people = [];
  for (let count = 0; count < 20; count += 1) people.push(await addMember(app));
  const mails = app.db().selectFrom('outbox_mails').select('id').where('kind', '=', 'access-requested');
  const before = (await mails.execute()).length;
  const calls = people.flatMap((email) =>
    Array.from({ length: 5 }, () => () => app.as(email).requests.create({ app: CHURN })),
  );
  const { succeeded } = await outcomesOf(calls);

  assert.is(succeeded, 100);
  assert.is((await mails.execute()).length, before + 1);
  const pending = await app.as(ACME).requests.list({ status: 'pending', limit: 200 });
  for (const email of people) assert.is(pending.filter((row) => row.email === email).length, 1);
});

const memberships = appSuite('memberships');

/** A new person of both clients, with an app of each. */
const addShared = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `both-${created}@globex.test`;
  await app.as(ROOT).users.create({ email, apps: [FLEET, SALES], extra: { region: 'all' } });
  return email;
};

const accountOf = (app: TestApp, email: string) => app.as(ROOT).users.get({ email });

const opens = async (app: TestApp, email: string): Promise<string[]> =>
  (await app.as(email).apps.list({})).map(({ id }) => id);

memberships('have one outcome if both clients suspend and grant 100 times at once', async ({ app }) => {
  const email = await addShared(app);
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
  assert.is((await accountOf(app, email)).is_active, true);
});

const offboarding = appSuite('offboarding');

/** A person with an app, a group that gives another, a link and a pending request; returns the address and the ids. */
const addPerson = async (app: TestApp, apps: string[] = [SALES]) => {
  created += 1;
  const email = `leaver-${created}@acme.test`;
  await app.as(ROOT).users.create({ email, first_name: 'Lea', apps, client: 1, send_email: false });
  const name = `Team ${created}`;
  const group = await app.as(ACME).groups.create({ id: 1, name, members: [email], apps: [CHURN] });
  const view = apps.includes(SALES)
    ? await app.as(ACME).accessViews.create({ app: 'sales', user_email: email })
    : null;
  return { email, group: group.id, groupName: name, view: view?.id ?? 0 };
};

const offboard = async (app: TestApp, email: string, as = ACME) => {
  const { operation, results } = await app.as(as).users.bulkUpdate({ emails: [email], action: 'offboard' });
  return { operation, row: results[0] };
};

const stateOf = async (app: TestApp, { email, group, view }: Awaited<ReturnType<typeof addPerson>>) => {
  const user = await app.as(ROOT).users.get({ email });
  const views = await app.as(ROOT).accessViews.list({ user: email });
  return {
    is_active: user.is_active,
    apps: user.apps,
    isMember: (await app.as(ROOT).groups.get({ id: 1, group_id: group })).members.includes(email),
    hasLink: views.some(({ id, is_active }) => id === view && is_active),
  };
};

const HAD = { is_active: true, apps: [SALES, CHURN], isMember: true, hasLink: true };

const NOTHING = { is_active: false, apps: [], isMember: false, hasLink: false };

offboarding('happens once, however many admins offboard and undo at the same time', async ({ app }) => {
  const person = await addPerson(app);
  const { email } = person;
  const { operation } = await offboard(app, email);
  const runs = Array.from({ length: 100 }, (_, index) =>
    index % 2 === 0 ? app.as(ACME).operations.undo({ id: operation }) : offboard(app, email),
  );

  const results = await Promise.allSettled(runs);

  // All wait for one person, and the last may time out.
  for (const result of results)
    if (result.status === 'rejected') assert.is(result.reason.cause?.code, 'database-unavailable');
  const answers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const undone = answers.flatMap((answer) => ('reverted' in answer ? answer.reverted : []));
  assert.ok(undone.length > 0 && undone.every((reverted) => reverted === 4));
  const again = answers.flatMap((answer) => ('row' in answer && answer.row?.status === 'ok' ? answer : []));
  assert.ok(again.length <= 1, `offboarded ${again.length} times`);
  assert.equal(await stateOf(app, person), again.length === 1 ? NOTHING : HAD);
});

const removals = appSuite('removals of apps and clients');

removals('that meet a grant leave no half of either', async ({ app }) => {
  const root = app.as(ROOT);
  for (let round = 0; round < 5; round += 1) {
    const site = await root.sites.create({ domain: `race-${round}.test`, name: 'Race' });
    const { id, name } = await root.clients.create({ name: `Race ${round}`, site: site.id });
    await sql`insert into apps (id, client_id, slug, label, created_at)
      values (${`race000${round}`}, ${id}, ${`race-${round}`}, 'Race', ${app.clock.now()}::timestamptz)`.execute(
      app.db(),
    );
    await setClient(app, id, false);
    const email = `race-${round}@acme.test`;
    const outcomes = await Promise.allSettled([
      root.users.create({ email, apps: [`race000${round}`] }),
      root.clients.remove({ id, confirm_name: name }),
      root.grants.create({ app_id: `race000${round}`, email: ADA }),
    ]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        assert.match(
          outcome.reason.code ?? outcome.reason.message,
          /NOT_FOUND|BAD_REQUEST|SERVICE_UNAVAILABLE/,
        );
    if (outcomes[1].status === 'rejected') await root.clients.remove({ id, confirm_name: name });
    await rejectsWith(root.clients.get({ id }), 'not-found');
    const [user] = await root.users.list({ search: email });
    if (user) assert.is(user.is_active, false);
  }
});

removals('that meet changes of access of the same people do not fail', async ({ app }) => {
  const root = app.as(ROOT);
  for (let round = 0; round < 3; round += 1) {
    const site = await root.sites.create({ domain: `busy-${round}.test`, name: 'Busy' });
    const { id, name } = await root.clients.create({ name: `Busy ${round}`, site: site.id });
    const app_id = `busy000${round}`;
    await sql`insert into apps (id, client_id, slug, label, created_at)
      values (${app_id}, ${id}, ${`busy-${round}`}, 'Busy', ${app.clock.now()}::timestamptz)`.execute(
      app.db(),
    );
    const emails = ['a', 'b', 'c', 'd'].map((letter) => `${letter}-${round}@busy.test`);
    for (const email of emails) await root.users.create({ email, apps: [app_id, SALES], send_email: false });
    await setClient(app, id, false);
    const changes = [true, false, true].flatMap((granted, n) => [
      root.access.update({ id, cells: emails.map((email) => ({ email, app_id, granted })) }),
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
