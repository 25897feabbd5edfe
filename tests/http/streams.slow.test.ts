import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { userId } from '../support/access-views.ts';
import { busySessions } from '../support/database-sessions.ts';
import { addRows, setRows } from '../support/rows.ts';
import { ACME, addressOf, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { NOON, passTime, until } from '../support/time.ts';
import { logEntry, SALES } from '../support/usage.ts';
import { addUsers } from '../support/users.ts';

const streams = appSuite('streamed lists');

/** Lists of 16 MB: far more than the buffers of a connection hold. */
const COUNT = 2_000;
const FILLER = 'x'.repeat(8_000);
const USERS = '/api/v1/jb/users/';
const LISTS = {
  users: { path: USERS, table: 'users' },
  usage: { path: `/api/v1/jb/apps/${SALES}/usage/`, table: 'usage_entries' },
};
/** How long an answer about the reader's access counts, and a bit more. */
const REOPEN_MS = 1_100;

streams.before(async ({ app }) => {
  await addUsers(app, COUNT);
  await sql`update memberships set extra = json_build_object('filler', ${FILLER}::text)
    where user_id in (select id from users where email like 'm%@many.test')`.execute(app.db());
  const extra = JSON.stringify({ filler: FILLER });
  const entries = Array.from({ length: COUNT }, (_, n) => ({ ...logEntry(n / 1_000), extra }));
  await writeUsage(app.orm.em.fork(), SALES, entries, NOON);
});

/** Opens the list over a socket without reading from it. */
const open = async (app: TestApp, path: string, as = ROOT): Promise<IncomingMessage> => {
  const authorization = `Token ${await app.tokenOf(as)}`;
  const request = get(`${await addressOf(app)}${path}`, { agent: false, headers: { authorization } });
  const [response] = (await once(request, 'response')) as [IncomingMessage]; // what the event has
  return response;
};

const outcomeOf = async (response: IncomingMessage): Promise<string> => {
  const [outcome] = await Promise.allSettled([text(response)]);
  return outcome.status === 'rejected' ? outcome.reason.code : outcome.value;
};

const setActive = (app: TestApp, email: string, is_active: boolean) =>
  setRows(app, 'users', { email }, { is_active });

for (const [name, { path, table }] of Object.entries(LISTS)) {
  streams(`of ${name} hold no database connection while the client does not read`, async ({ app }) => {
    const waiting = await Promise.all(Array.from({ length: 15 }, () => open(app, path)));

    await until('no statement runs', async () => (await busySessions(app)) === 0);
    assert.is((await app.send('GET /jb/sites/', { as: ROOT })).statusCode, 200);
    for (const response of waiting) response.destroy();
  });

  streams(`of ${name} end when the reader loses access`, async ({ app }) => {
    const response = await open(app, path, ACME);
    await setActive(app, ACME, false);
    passTime(REOPEN_MS);
    const outcome = await outcomeOf(response);
    await setActive(app, ACME, true);

    assert.is(outcome, 'ECONNRESET');
  });

  streams(`of ${name} are aborted if they fail halfway`, async ({ app }) => {
    const response = await open(app, path);
    await sql`alter table ${sql.table(table)} rename to gone`.execute(app.db());
    const outcome = await outcomeOf(response);
    await sql`alter table gone rename to ${sql.table(table)}`.execute(app.db());

    assert.is(outcome, 'ECONNRESET');
  });
}

streams('are independent of each other, also when some clients disconnect', async ({ app }) => {
  const whole = await outcomeOf(await open(app, USERS));
  const readAndLeave = async () => {
    const response = await open(app, USERS);
    await once(response, 'readable');
    response.destroy();
    return whole;
  };
  const readings = Array.from({ length: 6 }, async (_, index) =>
    index % 3 === 1 ? readAndLeave() : outcomeOf(await open(app, USERS)),
  );

  for (const text of await Promise.all(readings)) assert.ok(text === whole);
});

streams('show the apps of users whose apps change during the stream', async ({ app }) => {
  const response = await open(app, USERS);
  const row = { id: 'Young001', client_id: 1, slug: 'young', label: 'Young', created_at: app.clock.now() };
  await addRows(app, 'apps', row);
  const last = `m${COUNT}@many.test`;
  await addRows(app, 'app_grants', { user_id: await userId(app, last), app_id: row.id });
  const users = JSON.parse(await outcomeOf(response)) as { email: string; apps: string[] }[]; // as documented
  await sql`delete from apps where id = ${row.id}`.execute(app.db());

  const emails = users.map(({ email }) => email);
  assert.ok(users.find(({ email }) => email === last)?.apps.at(-1) === row.id);
  assert.is(new Set(emails).size, emails.length);
  assert.ok(emails.length > COUNT);
});

streams.run();
