import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  STAFF,
} from '../support/test-app.ts';
import { passTime } from '../support/time.ts';
import { FLEET, SALES } from '../support/usage.ts';

const exporting = appSuite('users.export');

/** How long an answer about the reader's access counts, and a bit more. */
const RECHECK_MS = 1_100;

exporting('is for the person and superusers only', async ({ app }) => {
  await app.as(ACME).users.export({ email: ACME });
  await rejectsWith(app.as(ACME).users.export({ email: ADA }), 'forbidden');
  await rejectsWith(app.as(STAFF).users.export({ email: ADA }), 'forbidden');
  await rejectsWith(app.as(ADA).users.export({ email: EDSGER }), 'not-found');
  await rejectsWith(app.as(ACME).users.export({ email: EDSGER }), 'not-found');
  const json = await app.send(`GET /jb/users/${ADA}/export/`, {
    as: ADA,
    headers: { accept: 'application/json' },
  });
  assert.is(json.statusCode, 406);
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
  const login = await app.send('POST /session/', { payload: { username: GRACE, password: DEMO_PASSWORD } });
  const cookie = login.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const get = () => app.send(`GET /jb/users/${GRACE}/export/`, { headers: { cookie } });

  assert.is((await get()).statusCode, 200);
  app.clock.advance(16 * MINUTE_MS);
  assert.is((await get()).json().type, 'urn:steward:problem:reauthentication-required');
});

exporting('ends when the reader loses access', async ({ app }) => {
  const pages = await app.as(ADA).users.export({ email: ADA });
  const iterator = pages[Symbol.asyncIterator]();
  await iterator.next();
  await app.as(ACME).users.deactivate({ email: ADA });
  passTime(RECHECK_MS);
  const readRest = async () => {
    for (let next = await iterator.next(); !next.done; ) next = await iterator.next();
  };

  await rejectsWith(readRest(), 'unauthenticated');
});

exporting('of a person ends when they leave a client', async ({ app }) => {
  const email = 'leaves@acme.test';
  await app.as(ROOT).users.create({ email, client: 1 });
  await app.as(ROOT).grants.create({ app_id: FLEET, email });
  const pages = await app.as(email).users.export({ email });
  const iterator = pages[Symbol.asyncIterator]();
  await iterator.next();
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  passTime(RECHECK_MS);
  const readRest = async () => {
    for (let next = await iterator.next(); !next.done; ) next = await iterator.next();
  };

  await rejectsWith(readRest(), 'unauthenticated');
});

exporting.run();
