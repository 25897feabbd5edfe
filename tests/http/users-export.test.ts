import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { loggedIn } from '../support/logins.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { passTime } from '../support/time.ts';
import { FLEET, SALES } from '../support/usage.ts';

const exporting = appSuite('users.export');

/** How long an answer about the reader's access counts, and a bit more. */
const RECHECK_MS = 1_100;

exporting('is for the person and superusers only', async ({ app }) => {
  await app.as(ACME).users.export({ email: ACME });
  await rejectsWith(app.as(ACME).users.export({ email: ADA }), 'forbidden');
  await rejectsWith(app.as(STAFF).users.export({ email: ADA }), 'forbidden');
  await rejectsWith(app.as(ADA).users.export({ email: GLOBEX }), 'not-found');
  await rejectsWith(app.as(ACME).users.export({ email: GLOBEX }), 'not-found');
  const headers = { accept: 'application/json' };
  assert.is((await app.send(`GET /jb/users/${ADA}/export/`, { as: ADA, headers })).statusCode, 406);
});

exporting('gives people what their clients have recorded, and superusers all', async ({ app }) => {
  const email = 'was-shared@acme.test';
  await app.as(ROOT).users.create({ email, apps: [SALES, FLEET], send_email: false });
  for (const app_id of [SALES, FLEET])
    await app.as(ROOT).usage.record({ app_id, entries: [{ email, action: 'OPEN' }] });
  await app.as(ROOT).memberships.remove({ id: 2, email });
  const usedIn = async (as: string) => {
    const apps: unknown[] = [];
    for await (const { part, items } of await app.as(as).users.export({ email }))
      if (part === 'usage') apps.push(...items.map((item) => item.app));
    return apps.sort();
  };

  assert.equal(await usedIn(email), ['sales']);
  assert.equal(await usedIn(ROOT), ['fleet', 'sales']);
});

exporting('requires a recently entered password of a session', async ({ app }) => {
  const { send } = await loggedIn(app, GRACE);
  const get = () => send(`GET /jb/users/${GRACE}/export/`);

  assert.is((await get()).statusCode, 200);
  app.clock.advance(16 * MINUTE_MS);
  assert.is((await get()).json().type, 'urn:steward:problem:reauthentication-required');
});

/** Reads a part of the export, and the rest after access has ended. */
const readUntil = async (app: TestApp, email: string, end: () => Promise<unknown>) => {
  const pages = (await app.as(email).users.export({ email }))[Symbol.asyncIterator]();
  await pages.next();
  await end();
  passTime(RECHECK_MS);
  for (let next = await pages.next(); !next.done; ) next = await pages.next();
};

exporting('ends when the reader loses access, or leaves a client', async ({ app }) => {
  const deactivate = () => app.as(ACME).users.deactivate({ email: ADA });
  await rejectsWith(readUntil(app, ADA, deactivate), 'unauthenticated');
  const email = 'leaves@acme.test';
  await app.as(ROOT).users.create({ email, client: 1 });
  await app.as(ROOT).grants.create({ app_id: FLEET, email });
  const leave = () => app.as(GLOBEX).memberships.remove({ id: 2, email });
  await rejectsWith(readUntil(app, email, leave), 'unauthenticated');
});

exporting.run();
