import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { busySessions } from '../support/database-sessions.ts';
import { ACME, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { addUsers } from '../support/users.ts';

const streams = appSuite('streamed lists');

/** Users of 8 KB each: far more than the buffers of a connection hold. */
const COUNT = 4_000;

streams.before(async ({ app }) => {
  await app.server.listen({ port: 0, host: '127.0.0.1' });
  await addUsers(app, COUNT);
  await sql`update users set extra = json_build_object('filler', repeat('x', 8000))
    where email like 'm%@many.test'`.execute(app.db());
});

/** Opens the list over a socket without reading from it. */
const open = async (app: TestApp, as = ROOT): Promise<IncomingMessage> => {
  const authorization = `Token ${await app.tokenOf(as)}`;
  const url = `${app.server.listeningOrigin}/api/v1/jb/users/`;
  const request = get(url, { agent: false, headers: { authorization } });
  const [response] = (await once(request, 'response')) as [IncomingMessage]; // what the event has
  return response;
};

const outcomeOf = async (response: IncomingMessage): Promise<string> => {
  const [outcome] = await Promise.allSettled([text(response)]);
  return outcome.status === 'rejected' ? outcome.reason.code : outcome.value;
};

streams('hold no database connection while the client does not read', async ({ app }) => {
  const waiting = await Promise.all(Array.from({ length: 15 }, () => open(app)));

  await until('no statement runs', async () => (await busySessions(app)) === 0);
  assert.is((await app.send('GET /jb/sites/', { as: ROOT })).statusCode, 200);
  for (const response of waiting) response.destroy();
});

streams('end when the client disconnects', async ({ app }) => {
  const response = await open(app);
  response.destroy();
  await once(response, 'close');

  assert.is((await app.send('GET /jb/sites/', { as: ROOT })).statusCode, 200);
});

streams('are independent of each other, also when some clients disconnect', async ({ app }) => {
  const whole = await outcomeOf(await open(app));
  const readAndLeave = async () => {
    const response = await open(app);
    await once(response, 'readable');
    response.destroy();
    return whole;
  };
  const readings = Array.from({ length: 12 }, async (_, index) =>
    index % 3 === 1 ? readAndLeave() : outcomeOf(await open(app)),
  );

  for (const text of await Promise.all(readings)) assert.ok(text === whole);
});

streams('show the apps of users whose apps change during the stream', async ({ app }) => {
  const response = await open(app);
  await sql`
    insert into apps (id, client_id, slug, label, created_at) values ('Young001', 1, 'young', 'Young', ${app.clock.now()}::timestamptz)`.execute(
    app.db(),
  );
  await sql`
    insert into app_grants (user_id, app_id) select id, 'Young001' from users where email = ${`m${COUNT}@many.test`}`.execute(
    app.db(),
  );
  const users = JSON.parse(await outcomeOf(response)) as { email: string; apps: string[] }[]; // as documented
  await sql`delete from apps where id = 'Young001'`.execute(app.db());

  const emails = users.map(({ email }) => email);
  assert.ok(users.find(({ email }) => email === `m${COUNT}@many.test`)?.apps.at(-1) === 'Young001');
  assert.is(new Set(emails).size, emails.length);
  assert.ok(emails.length > COUNT);
});

streams('end when the reader loses access', async ({ app }) => {
  const response = await open(app, ACME);
  await app.db().updateTable('users').set({ is_active: false }).where('email', '=', ACME).execute();
  const reading = (async () => {
    for await (const _ of response) await sleep(20);
  })();
  const [outcome] = await Promise.allSettled([reading]);
  await app.db().updateTable('users').set({ is_active: true }).where('email', '=', ACME).execute();

  assert.is(outcome.status === 'rejected' && outcome.reason.code, 'ECONNRESET');
});

streams('are aborted if they fail halfway', async ({ app }) => {
  const response = await open(app);
  await sql`alter table users rename to gone`.execute(app.db());
  const outcome = await outcomeOf(response);
  await sql`alter table gone rename to users`.execute(app.db());

  assert.is(outcome, 'ECONNRESET');
});

streams('are aborted when the database is lost, and the next one is complete', async ({ app }) => {
  const response = await open(app);
  const outcome = await app
    .db()
    .transaction()
    .execute(async (tx) => {
      await sql`lock table users`.execute(tx);
      const reading = outcomeOf(response);
      await until('a chunk waits for the lock, and loses its server', async () => {
        const { rows } = await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(app.db());
        return rows.length > 0;
      });
      return reading;
    });

  assert.is(outcome, 'ECONNRESET');
  assert.ok(JSON.parse(await outcomeOf(await open(app))).length > COUNT);
});

streams.run();
