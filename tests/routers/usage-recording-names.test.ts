import * as assert from 'uvu/assert';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { ACME, ADA, appSuite, EDSGER, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { logEntry, SALES } from '../support/usage.ts';

const names = appSuite('user names of usage');

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

names('are filled in only for users whom the caller may see', async ({ app }) => {
  assert.is(await nameFilledIn(app, ACME, {}), '');
  assert.is(await nameFilledIn(app, ACME, { email: ADA }), 'Ada Lovelace');
  assert.is(await nameFilledIn(app, STAFF, {}), 'Edsger Dijkstra');
  assert.is(await nameFilledIn(app, ACME, { full_name: 'As Sent' }), 'As Sent');
});

names('appear in a ranking only for users whom the caller may see', async ({ app }) => {
  const entries = Array.from({ length: 500 }, () => logEntry(1, EDSGER));
  await writeUsage(app.orm.em.fork(), SALES, entries, NOON);
  const namesFor = async (who: string) => {
    const { users } = await app.as(who).usage.top({ app_id: SALES });
    return [EDSGER, ADA].map((email) => users.find((user) => user.email === email)?.full_name);
  };

  assert.equal(await namesFor(ACME), ['', 'Ada Lovelace']);
  assert.equal(await namesFor(STAFF), ['Edsger Dijkstra', 'Ada Lovelace']);
});

names('may be null, like other optional fields', async ({ app }) => {
  const nulls = { timestamp: null, id: null, full_name: null, action_description: null };
  assert.is(await nameFilledIn(app, STAFF, nulls), 'Edsger Dijkstra');
});

names.run();
