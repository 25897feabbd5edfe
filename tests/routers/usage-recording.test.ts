import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { dayOf } from '../../src/services/apps/usage-windows.ts';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { collectPages, logEntry, rollupDifferences, SALES } from '../support/usage.ts';

const recording = appSuite('usage.record');

const PATH = `POST /jb/apps/${SALES}/usage/`;

const report = (more: object = {}) => ({ email: ADA, action: 'STACK_ACCESS', ...more });

const ago = (ms: number) => new Date(NOON.getTime() - ms);

const countOf = async (app: TestApp): Promise<number> =>
  (await collectPages(await app.as(ROOT).usage.listByApp({ app_id: SALES, window: 3650 }))).length;

/** Sends entries that must be refused, and returns the errors by index and field. */
const refused = async (app: TestApp, payload: object): Promise<Record<string, unknown>> => {
  const before = await countOf(app);
  const response = await app.send(PATH, { as: STAFF, payload });
  assert.is(response.statusCode, 400);
  assert.is(await countOf(app), before);
  return response.json().errors;
};

recording.after.each(async ({ app }) => {
  assert.equal(await rollupDifferences(app, SALES, dayOf(NOON)), []);
});

recording('accepts one entry or an array', async ({ app }) => {
  const before = await countOf(app);
  for (const [payload, inserted] of [
    [report(), 1],
    [[report(), report({ email: GRACE })], 2],
    [[], 0],
  ] as const) {
    const answer = await app.send(PATH, { as: ACME, payload });
    assert.equal([answer.statusCode, answer.json()], [201, { inserted, duplicates: 0 }]);
  }
  assert.is(await countOf(app), before + 3);
});

recording('stores an entry as sent, and fills in omitted fields', async ({ app }) => {
  const extra = { zebra: 1, app: 'sales', nested: { '\u0000': [null, 'x'] }, stack: 'a0a91e46' };
  const sent = { action: 'KEPT', full_name: 'Then Named', action_description: 'x', extra };
  const payload = [
    report({ ...sent, timestamp: ago(1).toISOString() }),
    { email: 'Ada@ACME.test', action: 'KEPT' },
  ];
  await app.send(PATH, { as: STAFF, payload });
  const { items: all } = await app.as(STAFF).usage.list({ app_id: SALES });
  const items = all.filter(({ action }) => action === 'KEPT');
  const [filled, kept] = items.map(({ id, extra: own, ...item }) => ({
    ...item,
    extra: JSON.stringify(own),
  }));

  assert.equal(kept, { ...report(sent), timestamp: ago(1), extra: JSON.stringify(extra) });
  assert.equal(filled, {
    email: ADA,
    full_name: 'Ada Lovelace',
    timestamp: NOON,
    action: 'KEPT',
    action_description: '',
    extra: '{}',
  });
});

recording('refuses the whole array if elements are invalid, and reports all errors', async ({ app }) => {
  const errors = await refused(app, [
    report(),
    report({ action: 'stack access', email: 'not an address' }),
    report({ extra: 7, timestamp: 'yesterday' }),
    'text',
    report({ action_description: 'a\u0000b', full_name: 1 }),
  ]);

  assert.equal(Object.keys(errors), ['1', '2', '3', '4']);
  assert.equal(Object.keys(errors[1] as object).sort(), ['action', 'email']);
  assert.equal(Object.keys(errors[2] as object).sort(), ['extra', 'timestamp']);
  assert.equal(Object.keys(errors[4] as object).sort(), ['action_description', 'full_name']);
});

recording('accepts late entries up to the retention, and refuses future ones', async ({ app }) => {
  const at = (when: Date) => report({ timestamp: when.toISOString() });
  const taken = [at(ago(-5 * MINUTE_MS)), at(ago(400 * DAY_MS))];
  const answer = await app.send(PATH, { as: STAFF, payload: taken });
  assert.equal(answer.json(), { inserted: 2, duplicates: 0 });

  const errors = await refused(app, [at(NOON), at(ago(-5 * MINUTE_MS - 1)), at(ago(400 * DAY_MS + 1))]);
  assert.equal(errors, {
    1: { timestamp: ['Must not be more than 5 minutes ahead.'] },
    2: { timestamp: ['Must not be older than the 400 days that are kept.'] },
  });
});

recording('accepts at most 10,000 entries at once', async ({ app }) => {
  const entries = Array.from({ length: 10_001 }, (_, n) => report({ timestamp: ago(n * 1_000_000) }));
  const tooMany = await refused(app, entries);
  const taken = await app.as(STAFF).usage.record({ app_id: SALES, entries: entries.slice(1) });

  assert.match(String(tooMany.body), /10000/);
  assert.equal(taken, { inserted: 10_000, duplicates: 0 });
});

recording('writes an entry with an id once, in one array, repeated or concurrent', async ({ app }) => {
  const identified = (id: string) => report({ id, timestamp: ago(40 * DAY_MS) });
  const [first, second] = [identified('1'), identified('2')];
  const send = async (entries: object[]) =>
    (await app.send(PATH, { as: STAFF, payload: entries })).json().inserted;

  assert.is(await send([first, first]), 1);
  const inserted = await Promise.all(Array.from({ length: 10 }, () => send([first, second])));
  assert.equal(inserted.toSorted(), [...Array(9).fill(0), 1]);
});

recording('detects a duplicate without a time by its id', async ({ app }) => {
  const timeless = report({ id: 'timeless' });
  const before = await countOf(app);
  await Promise.all(Array.from({ length: 5 }, () => app.send(PATH, { as: STAFF, payload: timeless })));
  app.clock.advance(DAY_MS / 24);
  const later = await app.send(PATH, { as: STAFF, payload: timeless });
  app.clock.advance(-DAY_MS / 24);

  assert.equal(later.json(), { inserted: 0, duplicates: 1 });
  assert.is(await countOf(app), before + 1);
});

const ENTRY = { email: EDSGER, action: 'NAMED' };

/** The name of an entry that this caller writes. */
const nameFilledIn = async (app: TestApp, who: string, entry: object): Promise<string | undefined> => {
  const payload = { ...ENTRY, ...entry };
  const answer = await app.send(`POST /jb/apps/${SALES}/usage/`, { as: who, payload });
  assert.equal(answer.json(), { inserted: 1, duplicates: 0 });
  app.clock.advance(1);
  const { items } = await app.as(ROOT).usage.list({ app_id: SALES, email: payload.email, limit: 1 });
  return items[0]?.full_name;
};

recording('user names are filled in only for users whom the caller may see', async ({ app }) => {
  const nulls = { timestamp: null, id: null, full_name: null, action_description: null };

  assert.is(await nameFilledIn(app, ACME, {}), '');
  assert.is(await nameFilledIn(app, ACME, { email: ADA }), 'Ada Lovelace');
  assert.is(await nameFilledIn(app, STAFF, nulls), 'Edsger Dijkstra');
  assert.is(await nameFilledIn(app, ACME, { full_name: 'As Sent' }), 'As Sent');
});

recording('user names appear in a ranking only for users whom the caller may see', async ({ app }) => {
  const entries = Array.from({ length: 500 }, () => logEntry(1, EDSGER));
  await writeUsage(app.orm.em.fork(), SALES, entries, NOON);
  const namesFor = async (who: string) => {
    const { users } = await app.as(who).usage.top({ app_id: SALES });
    return [EDSGER, ADA].map((email) => users.find((user) => user.email === email)?.full_name);
  };

  assert.equal(await namesFor(ACME), ['', 'Ada Lovelace']);
  assert.equal(await namesFor(STAFF), ['Edsger Dijkstra', 'Ada Lovelace']);
});

recording.run();
