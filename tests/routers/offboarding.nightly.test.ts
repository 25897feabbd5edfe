import * as assert from 'uvu/assert';
import { ACME, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const offboarding = appSuite('offboarding');

let created = 0;

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

offboarding.run();
