import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { pruneResponses } from '../../src/services/pruning.ts';
import { ACME, ADA, appSuite, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const idempotency = appSuite('Idempotency-Key');

const send = (app: TestApp, key: string, payload: object, as = STAFF) =>
  app.send(`POST /jb/apps/${SALES}/usage/`, { as, payload, headers: { 'idempotency-key': key } });
const report = { email: ADA, action: 'X' };
const countOf = async (app: TestApp): Promise<number> =>
  (await app.db().selectFrom('usage_entries').select('id').where('action', '=', 'X').execute()).length;

idempotency('replays the first response, even to twenty simultaneous repeats', async ({ app }) => {
  const before = await countOf(app);
  const responses = await Promise.all(Array.from({ length: 20 }, () => send(app, 'once', [report, report])));

  for (const response of responses) {
    assert.equal([response.statusCode, response.json()], [201, { inserted: 2, duplicates: 0 }]);
  }
  assert.is(await countOf(app), before + 2);
});

idempotency('treats a quoted key as the same key', async ({ app }) => {
  await send(app, 'quoted', report);
  const before = await countOf(app);
  assert.equal((await send(app, '"quoted"', report)).json(), { inserted: 1, duplicates: 0 });
  assert.is(await countOf(app), before);
});

idempotency('refuses a key that was used for a different request', async ({ app }) => {
  await send(app, 'taken', report);
  const response = await send(app, 'taken', { ...report, action: 'Y' });

  assert.is(response.statusCode, 409);
  assert.is(response.json().type, 'urn:steward:problem:idempotency-key-reused');
});

idempotency('separates the keys of callers', async ({ app }) => {
  await send(app, 'shared', report, STAFF);
  const before = await countOf(app);
  await send(app, 'shared', report, ACME);
  assert.is(await countOf(app), before + 1);
});

idempotency('stores nothing for a failed request', async ({ app }) => {
  assert.is((await send(app, 'failed', { email: 'not an address' })).statusCode, 400);
  assert.is((await send(app, 'failed', report)).statusCode, 201);
});

idempotency('names the header if the key is invalid', async ({ app }) => {
  for (const key of ['', 'two words', 'x'.repeat(256), 'ü', '"']) {
    const response = await send(app, key, report);
    assert.is(response.statusCode, 400, key);
    assert.ok(response.json().errors['Idempotency-Key'], key);
  }
});

idempotency('is refused with a batch of several calls', async ({ app }) => {
  const before = await countOf(app);
  const call = (names: string[], key?: string) =>
    app.send(`POST !/trpc/${names.join(',')}?batch=1`, {
      as: STAFF,
      payload: Object.fromEntries(names.map((_, n) => [n, { json: { app_id: SALES, entries: [report] } }])),
      headers: { 'idempotency-key': key },
    });
  const record = 'usage.record';

  for (const response of (await call([record, record], 'batch')).json()) {
    assert.is(response.error.json.data.problem.code, 'invalid-input');
    assert.ok(response.error.json.data.problem.fields['Idempotency-Key']);
  }
  assert.is(await countOf(app), before);
  assert.is((await call([record], 'batch')).statusCode, 200);
  assert.is((await call([record], 'batch')).statusCode, 200);
  assert.is(await countOf(app), before + 1);
  await call([record, record]);
  assert.is(await countOf(app), before + 3);
});

idempotency('replays the first response even after its entries have become too old', async ({ app }) => {
  const late = { ...report, timestamp: new Date(app.clock.now().getTime() - 400 * DAY_MS).toISOString() };
  const first = await send(app, 'late', late);
  app.clock.advance(DAY_MS / 2);
  const repeat = await send(app, 'late', late);
  const other = await send(app, 'later', late);
  app.clock.advance(-DAY_MS / 2);

  assert.equal([repeat.statusCode, repeat.json()], [first.statusCode, first.json()]);
  assert.is(first.statusCode, 201);
  assert.is(other.statusCode, 400);
  assert.is((await send(app, 'later', report)).statusCode, 201, 'the refusal left no claim');
});

idempotency('treats null like an omitted field', async ({ app }) => {
  await send(app, 'null', report);
  const before = await countOf(app);
  const nulls = { timestamp: null, id: null, full_name: null, action_description: null };
  assert.is((await send(app, 'null', { ...report, ...nulls })).statusCode, 201);
  assert.is(await countOf(app), before);
});

idempotency('expires after a day', async ({ app }) => {
  await send(app, 'old', report);
  const before = await countOf(app);
  app.clock.advance(DAY_MS);
  await send(app, 'old', report);
  assert.is(await countOf(app), before + 1);

  app.clock.advance(DAY_MS);
  await pruneResponses(app.orm.em.fork(), app.clock.now(), 24);
  assert.equal(await app.db().selectFrom('idempotent_responses').select('key').execute(), []);
});

idempotency.run();
