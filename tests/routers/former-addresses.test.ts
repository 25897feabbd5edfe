import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createView, LAUNCH_URL, openView, setApp } from '../support/access-views.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const former = appSuite('addresses of people who have left');

const OLD = 'leaver@acme.test';
const NEW = 'secret@globex.test';

former.before(async ({ app }) => {
  app.clock.advance(Date.now() - app.clock.now().getTime());
  await setApp(app, { launch_url: LAUNCH_URL });
  await app.as(ROOT).users.create({ email: OLD, apps: [SALES, FLEET], send_email: false });
  const { key } = await createView(app, { user: OLD });
  await openView(app, key);
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: OLD, action: 'OPEN', extra: {} }] });
  const bulk = { emails: [OLD], action: 'revoke-apps' as const, apps: [SALES] };
  const { operation } = await app.as(ACME).users.bulkUpdate(bulk);
  operations.set(app, operation);
  await app.as(ACME).memberships.remove({ id: 1, email: OLD });
  app.clock.advance(DAY_MS);
  await app.as(ROOT).users.changeEmail({ email: OLD, new_email: NEW });
  app.clock.advance(-DAY_MS);
});

const operations = new WeakMap<TestApp, string>();

/** What an admin can read of the person, as text. */
const readAll = async (app: TestApp, as: string): Promise<string> =>
  JSON.stringify([
    await app.as(as).usage.top({ app_id: SALES }),
    await app.as(as).accessViews.list({}),
    await app.as(as).accessViews.list({ user: OLD }),
    (await app.send('GET /jb/access_views/', { as })).body,
    (await app.send('GET /jb/access_views/?app=sales&format=csv', { as })).body,
  ]);

former('stay as the client knew them', async ({ app }) => {
  const read = await readAll(app, ACME);
  assert.ok(read.includes(OLD));
  assert.not.ok(read.includes(NEW));
  assert.is((await app.as(ACME).accessViews.list({ user: NEW })).length, 0);
  const [view] = await app.as(ACME).accessViews.list({ user: OLD });
  const uses = await app.as(ACME).accessViews.uses({ key: view?.key ?? '' });
  assert.is(uses[0]?.user_email, OLD);
  const { skipped } = await app.as(ACME).operations.undo({ id: operations.get(app) ?? '' });
  assert.equal(
    skipped.map(({ email }) => email),
    [OLD],
  );
});

former('are the present ones for those who see the person', async ({ app }) => {
  assert.ok((await readAll(app, ROOT)).includes(NEW));
  assert.is((await app.as(GLOBEX).users.get({ email: NEW })).email, NEW);
  assert.is((await app.as(ROOT).accessViews.list({ user: NEW })).length, 1);
});

former.run();
