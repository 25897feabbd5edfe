import * as assert from 'uvu/assert';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const memberships = appSuite('memberships');

let created = 0;

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

memberships.run();
