import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { busySessions } from '../support/database-sessions.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON, until } from '../support/time.ts';
import { collectPages, FLEET, logEntry, SALES } from '../support/usage.ts';

const streams = appSuite('usage streams');

const PATH = `/api/v1/jb/apps/${SALES}/usage/`;
const read = (app: TestApp, accept = 'application/json', path = `/jb/apps/${SALES}/usage/`, as = STAFF) =>
  app.send(`GET ${path}`, { as, headers: { accept } });

/** Opens a stream over a socket that reads only on demand. */
const open = async (app: TestApp): Promise<IncomingMessage> => {
  const authorization = `Token ${await app.tokenOf(STAFF)}`;
  const request = get(app.server.listeningOrigin + PATH, { agent: false, headers: { authorization } });
  const [response] = (await once(request, 'response')) as [IncomingMessage]; // what the event has
  return response;
};

/** 5,000 entries of 10 KB, far more than the buffers of a connection hold. */
const fillUp = async (app: TestApp): Promise<void> => {
  const extra = JSON.stringify({ filler: 'x'.repeat(10_000) });
  const entries = Array.from({ length: 5_000 }, (_, n) => ({ ...logEntry(n / 1_000), extra }));
  await writeUsage(app.orm.em.fork(), SALES, entries, NOON);
};

streams.before(async ({ app }) => {
  await app.server.listen({ port: 0, host: '127.0.0.1' });
});

streams('are byte for byte equal to the same entries as one array', async ({ app }) => {
  const odd = { 'a"b': ['\u0000', '\ud83d\ude00', 1e21, -0.5, null], __proto__x: {}, 7: 'seven' };
  await writeUsage(
    app.orm.em.fork(),
    SALES,
    [
      {
        ...logEntry(0, 'o"dd@x.test'),
        fullName: 'Ünï\\"\n',
        actionDescription: '\t"\u2028',
        extra: JSON.stringify(odd),
      },
    ],
    NOON,
  );
  const entries = await collectPages(await app.as(STAFF).usage.listByApp({ app_id: SALES, window: 120 }));
  const response = await read(app, 'application/json', `/jb/apps/${SALES}/usage/?window=120`);

  assert.ok(entries.length > 300, 'more than one page');
  assert.is(response.headers['content-type'], 'application/json; charset=utf-8');
  assert.is(response.body, JSON.stringify(entries));
});

streams('are an empty array without entries', async ({ app }) => {
  await app.db().deleteFrom('usage_entries').where('app_id', '=', FLEET).execute();
  assert.is((await read(app, 'application/json', `/jb/apps/${FLEET}/usage/`)).body, '[]');
  assert.is((await read(app, 'text/csv', `/jb/apps/${FLEET}/usage/`)).body.split('\r\n').length, 2);
});

streams('escape formulas in CSV', async ({ app }) => {
  const evil = { ...logEntry(0), fullName: '=HYPERLINK("http://x.test")', actionDescription: 'a,b\r\n"c"' };
  await writeUsage(
    app.orm.em.fork(),
    SALES,
    [{ ...evil, occurredAt: new Date(NOON.getTime() + 1000) }],
    NOON,
  );
  const response = await read(app, 'text/csv');
  const [header, first = '', second = ''] = response.body.split('\r\n');

  assert.is(response.headers['content-type'], 'text/csv; charset=utf-8');
  assert.is(header, 'action_description,email,full_name,timestamp,action,extra');
  assert.is(first, '"a,b');
  const rest = `""c""",w@x.test,"'=HYPERLINK(""http://x.test"")",2026-11-21T12:00:01.000Z,STACK_ACCESS,{}`;
  assert.is(second, rest);
});

streams(
  'have the same format for one user, whose newest entry alone is one object or one line',
  async ({ app }) => {
    const path = `/jb/users/${ADA}/usage/${SALES}/`;
    const newest = (await read(app, 'application/json', path)).json();
    const window = (await read(app, 'application/json', `${path}?window=120`)).json();
    const csv = await read(app, 'text/csv', path);

    assert.equal(newest, window[0]);
    assert.ok(window.length > 100);
    assert.is(csv.body.trimEnd().split('\r\n').length, 2);
  },
);

streams('fail with their own status before the first byte', async ({ app }) => {
  const statusOf = async (as: string, accept: string) =>
    (await read(app, accept, `/jb/apps/${SALES}/usage/`, as)).statusCode;

  assert.is(await statusOf(ADA, 'text/csv'), 403);
  assert.is(await statusOf(GLOBEX, 'application/json'), 404);
  assert.is(await statusOf(ACME, 'image/png'), 406);
  const head = await app.send(`HEAD /jb/apps/${SALES}/usage/`, { as: ROOT });
  const { headers } = await read(app);
  assert.equal(
    [head.statusCode, head.body, head.headers['content-length']],
    [200, '', headers['content-length']],
  );
});

streams('hold no database connection while the client does not read', async ({ app }) => {
  await fillUp(app);
  const waiting = await Promise.all(Array.from({ length: 25 }, () => open(app)));

  // The prefetched pages arrive first.
  await until('no statement runs', async () => (await busySessions(app)) === 0);
  assert.is((await app.send('GET /jb/sites/', { as: ROOT })).statusCode, 200);
  for (const response of waiting) response.destroy();
});

streams('end when the client disconnects', async ({ app }) => {
  const response = await open(app);
  response.destroy();
  await once(response, 'close');
  // `close` waits for active requests, and so for the stream.
  assert.is((await app.send('GET /jb/sites/', { as: ROOT })).statusCode, 200);
});

streams('end when the reader loses access', async ({ app }) => {
  const [outcome] = await Promise.allSettled([
    open(app).then(async (response) => {
      await once(response, 'readable');
      await app.db().updateTable('users').set({ is_active: false }).where('email', '=', STAFF).execute();
      for await (const _ of response) await sleep(50);
    }),
  ]);
  await app.db().updateTable('users').set({ is_active: true }).where('email', '=', STAFF).execute();

  assert.is(outcome.status === 'rejected' && outcome.reason.code, 'ECONNRESET');
});

streams('are aborted if they fail halfway', async ({ app }) => {
  const response = await open(app);
  await once(response, 'readable');
  await sql`alter table usage_entries rename to gone`.execute(app.db());

  const [outcome] = await Promise.allSettled([text(response)]);
  await sql`alter table gone rename to usage_entries`.execute(app.db());
  assert.is(outcome.status, 'rejected');
  assert.is(outcome.status === 'rejected' && outcome.reason.code, 'ECONNRESET');
});

streams.run();
