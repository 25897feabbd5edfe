import * as assert from 'uvu/assert';
import { ACME, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

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

races.run();
