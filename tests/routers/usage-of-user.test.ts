import * as assert from 'uvu/assert';
import { DEFAULT_WINDOW_DAYS } from '../../routers/schemas/fields.ts';
import { usageEncoder } from '../../routers/usage.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, collectPages, FLEET, logEntry, SALES } from '../support/usage.ts';

const usage = appSuite('usage.listByUserInAllApps');

const list = async (app: TestApp, who: string, input: { email: string; window?: number }) =>
  collectPages(await app.as(who).usage.listByUserInAllApps(input));
const times = (entries: { timestamp: Date }[]): number[] =>
  entries.map(({ timestamp }) => timestamp.getTime());

const inApp = async (app: TestApp, app_id: string, window: number) => {
  const entries = await app.as(ROOT).usage.listByUser({ email: ADA, app_id, window });
  assert.ok(Symbol.asyncIterator in entries);
  return collectPages(entries);
};

/** Ada is a member of the first client only. Her usage of an app of the second is the newest. */
usage.before(async ({ app }) => {
  await writeUsage(app.orm.em.fork(), FLEET, [logEntry(0, ADA), logEntry(1, ADA)], app.clock.now());
});

usage('lists the entries of all apps, newest first', async ({ app }) => {
  const all = await list(app, ROOT, { email: ADA, window: 120 });
  const apps = await Promise.all([SALES, CHURN, FLEET].map((id) => inApp(app, id, 120)));

  assert.is(all.length, apps.flat().length);
  assert.ok(apps.every((entries) => entries.length > 1));
  assert.equal(
    times(all),
    times(apps.flat()).toSorted((a, b) => b - a),
  );
  assert.equal(await list(app, STAFF, { email: ADA, window: 120 }), all);
});

usage('leaves out apps whose usage the caller may not see', async ({ app }) => {
  const own = await list(app, ACME, { email: ADA, window: 120 });
  const apps = await Promise.all([SALES, CHURN].map((id) => inApp(app, id, 120)));

  assert.equal(
    times(own),
    times(apps.flat()).toSorted((a, b) => b - a),
  );
});

usage('lists the days of the default window if none is given', async ({ app }) => {
  const start = app.clock.now().getTime() - DEFAULT_WINDOW_DAYS * DAY_MS;
  const entries = await list(app, ACME, { email: ADA });

  assert.ok(entries.length > 0);
  assert.ok(times(entries).every((time) => time >= start));
  assert.equal(entries, await list(app, ACME, { email: ADA, window: DEFAULT_WINDOW_DAYS }));
  const longer = await list(app, ACME, { email: ADA, window: DEFAULT_WINDOW_DAYS + 1 });
  assert.ok(entries.length < longer.length);
});

usage(
  'fails with not-found for users whom the caller may not see, and is forbidden for members',
  async ({ app }) => {
    const of = (who: string, email: string) => app.as(who).usage.listByUserInAllApps({ email });

    await rejectsWith(of(ACME, EDSGER), 'not-found');
    await rejectsWith(of(GLOBEX, ADA), 'not-found');
    await rejectsWith(of(ROOT, 'unknown@acme.test'), 'not-found');
    await rejectsWith(of(ADA, ADA), 'forbidden');
  },
);

usage(
  'is forbidden for a caller who no longer has the role when the list is opened again',
  async ({ app }) => {
    const token = await app.tokenOf(ADA);
    const { authentication, usage: service } = app.openServices();
    const actor = await authentication.findByToken(token);
    assert.ok(actor);

    await rejectsWith(
      service.stream(actor, { email: ADA, windowDays: 30 }, {}, usageEncoder('json')),
      'forbidden',
    );
  },
);

const PATH = `/jb/users/${ADA}/usage`;

usage('streams JSON and CSV, with each scheme and with or without the slash', async ({ app }) => {
  const entries = await list(app, ACME, { email: ADA, window: 90 });
  for (const scheme of ['Token', 'Bearer', 'JWT']) {
    const headers = { authorization: `${scheme} ${await app.tokenOf(ACME)}` };
    for (const path of [`${PATH}/`, PATH]) {
      const json = await app.send(`GET ${path}?window=90`, { headers });
      assert.is(json.body, JSON.stringify(entries));
      assert.is(json.headers.etag, undefined);
    }
    const csv = await app.send(`GET ${PATH}/?window=90`, { headers: { ...headers, accept: 'text/csv' } });
    const lines = csv.body.trim().split('\r\n');
    assert.is(lines[0], 'action_description,email,full_name,timestamp,action,extra');
    assert.is(lines.length, entries.length + 1);
    assert.match(String(csv.headers['content-disposition']), 'users-ada_acme.test-usage.csv');
  }
});

usage('accepts windows of 1 to 3650 whole days, and leaves the path of one app as it is', async ({ app }) => {
  for (const window of ['0', '3651', '1.5', 'x', '']) {
    const response = await app.send(`GET ${PATH}/?window=${window}`, { as: ACME });
    assert.is(response.statusCode, 400, window);
    assert.equal(Object.keys(response.json().errors), ['window']);
  }
  const one = await app.send(`GET ${PATH}/${SALES}/`, { as: ACME });
  assert.is(one.json().email, ADA);
});

usage.run();
