import { appendFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { createAudit, NO_ORIGIN, ofAddress } from '../../../src/services/audit/audit.ts';
import { AUDIT_ACTIONS } from '../../../src/services/audit/event-types.ts';
import { maintainEvents } from '../../../src/services/events/event-rows.ts';
import { readOperationalState } from '../../../src/services/operational-state.ts';
import { pruneAudit } from '../../../src/services/pruning.ts';
import { createSinkQueue, isAwaitedBySinks } from '../../../src/services/sinks/sink-queue.ts';
import { makeScratchFolder } from '../../support/files.ts';
import { rowOf, setRows } from '../../support/rows.ts';
import { suiteWith } from '../../support/suite.ts';
import { ROOT, startTestApp, type TestApp } from '../../support/test-app.ts';

const sinks = suiteWith('event sinks', async (started) => {
  const folder = started.use(await makeScratchFolder());
  const path = folder.join('events.jsonl');
  const app = await startTestApp({ EVENT_FILE: path });
  started.defer(app.close);
  return { app, folder, path };
});
/** No event, and no sink that was served. */
sinks.before.each(async ({ app, path }) => {
  await rm(path, { force: true, recursive: true });
  for (const table of ['events', 'unpublished_events', 'event_sinks'] as const)
    await app.db().deleteFrom(table).execute();
  await app.renewToken(ROOT);
});

const record = (app: TestApp, count: number, target = ofAddress('someone')) =>
  app.orm.em.fork().transactional((tx) =>
    createAudit(NO_ORIGIN, app.clock).record(
      tx,
      Array.from({ length: count }, () => ({ action: 'mfa.fail' as const, actor: null, target })),
    ),
  );

const linesIn = async (path: string): Promise<string[]> =>
  (await readFile(path, 'utf8').catch(() => '')).split('\n').filter(Boolean);
const idsIn = async (path: string): Promise<number[]> =>
  (await linesIn(path)).map((line) => JSON.parse(line).id);

const positionOf = (app: TestApp) => rowOf(app, 'event_sinks', { name: 'file' });

const lag = async (app: TestApp) => (await readOperationalState(app.orm.em.fork(), app.clock.now())).sinks;

const listed = (app: TestApp) => app.as(ROOT).events.list({ limit: 1_000 });

sinks('keep what they have not received beyond the retention', async ({ app, path }) => {
  const prune = async (names: 'file'[] = []) => {
    const now = app.clock.now();
    await pruneAudit(app.orm.em.fork(), now, 30, isAwaitedBySinks(now, names));
    await maintainEvents(app.orm.em.fork());
    const rows = app.db().selectFrom('audit_entries').select('id').where('action', '=', 'mfa.fail');
    return (await rows.execute()).length;
  };
  await app.sinkWorker?.drain();
  await record(app, 5);
  app.clock.advance(31 * DAY_MS);
  assert.is(await prune(['file']), 5, 'those of this instance');
  const touch = () => setRows(app, 'event_sinks', {}, { served_at: app.clock.now() });
  await touch();
  app.clock.advance(23 * HOUR_MS);
  assert.is(await prune(), 5, 'those of another instance');
  await app.sinkWorker?.drain();
  assert.is((await idsIn(path)).length >= 5, true);
  assert.is(await prune(['file']), 0);

  await record(app, 2);
  app.clock.advance(31 * DAY_MS);
  assert.is(await prune(), 0, 'a sink that was removed keeps nothing');
  assert.equal(await lag(app), []);
  const before = (await idsIn(path)).length;
  await record(app, 1);
  await app.sinkWorker?.drain();
  assert.is((await idsIn(path)).length, before + 1, 'events without entries are passed over');
});

sinks('get each event as events.list shows it to superusers, in the order of ids', async ({ app, path }) => {
  const entries = AUDIT_ACTIONS.flatMap((action) =>
    [[], [1], [1, 2]].map((clients) => ({
      action,
      actor: { id: 1, email: ROOT },
      target: ofAddress(`${action} of ${clients}`),
      clients,
      details: { name: { from: 'before', to: 'after' }, reason: 'why\n', id: 7 },
    })),
  ) as Parameters<ReturnType<typeof createAudit>['record']>[1]; // the shapes of details do not matter here
  const em = app.orm.em.fork();
  await em.transactional((tx) =>
    createAudit({ requestId: 'the-request', address: '192.0.2.1' }, app.clock).record(tx, entries),
  );
  await app.sinkWorker?.drain();

  const events = await listed(app);
  assert.ok(events.length >= entries.length);
  assert.equal(
    await linesIn(path),
    events.map((event) => JSON.stringify(event)),
  );
  assert.is((await positionOf(app)).position, events.at(-1)?.id);
  assert.equal(
    (await lag(app)).map(({ name, eventsBehind, secondsBehind, failingSince }) => [
      name,
      eventsBehind,
      secondsBehind,
      failingSince,
    ]),
    [['file', 0, 0, null]],
  );
});

sinks('get events in batches, and all of them', async ({ app, path }) => {
  await record(app, 2_500);
  await app.sinkWorker?.drain();
  const before = (await idsIn(path)).length;
  const [large] = [{ apps: { added: ['x'.repeat(300_000)] } }];
  for (let n = 0; n < 5; n++)
    await app.orm.em
      .fork()
      .transactional((tx) =>
        createAudit(NO_ORIGIN, app.clock).record(tx, [
          { action: 'group.update', actor: null, target: ofAddress('large'), details: large },
        ]),
      );
  const queue = createSinkQueue({ em: app.orm.em, clock: app.clock, startsAt: 'oldest' });
  const { claimed } = await queue.claim(['file']);
  assert.equal(
    claimed.map(({ events }) => events.length),
    [2],
    'a batch ends with the event that exceeds its bytes',
  );
  await queue.release(claimed);
  await app.sinkWorker?.drain();

  const ids = await idsIn(path);
  assert.is(ids.length, before + 5);
  assert.equal(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  assert.is(new Set(ids).size, ids.length);
});

sinks('are retried after a failure, with a growing wait', async ({ app, path, folder }) => {
  await app.sinkWorker?.drain();
  await rm(path, { force: true });
  await mkdir(path);
  await record(app, 3);
  const waits: number[] = [];
  for (let attempts = 1; attempts <= 9; attempts++) {
    await app.sinkWorker?.drain();
    const sink = await positionOf(app);
    assert.is(sink.attempts, attempts);
    assert.match(sink.last_error ?? '', /is a directory/);
    waits.push(sink.next_attempt_at.getTime() - app.clock.now().getTime());
    app.clock.advance(waits.at(-1) ?? 0);
  }
  assert.ok(waits.every((wait, index) => index === 0 || wait >= (waits[index - 1] ?? 0) * 0.75));
  assert.ok(waits.at(-1) === MINUTE_MS);
  const [{ eventsBehind, secondsBehind, failingSince } = {}] = await lag(app);
  assert.is(eventsBehind, 3);
  assert.ok(Number(secondsBehind) > 100);
  assert.ok(failingSince);

  await rename(path, folder.join('away'));
  await app.sinkWorker?.drain();
  assert.is((await idsIn(path)).length, 3);
  const { attempts, failing_since, last_error } = await positionOf(app);
  assert.equal([attempts, failing_since, last_error], [0, null, null]);
});

sinks('complete the line of a crash, and may repeat its batch', async ({ app, path }) => {
  await record(app, 3);
  await app.sinkWorker?.drain();
  const ids = await idsIn(path);
  // Killed after a part of the next batch was written, before its position was stored.
  await record(app, 2);
  await appendFile(path, '{"id":99,"type":"mfa.fai');
  await app.sinkWorker?.drain();

  const all = await idsIn(path);
  assert.is(all.length, ids.length + 2);
  assert.equal(
    all,
    (await listed(app)).map(({ id }) => id),
  );
});

sinks('are served by one worker at a time, and by another one after its lease', async ({ app }) => {
  await record(app, 3);
  const queues = [1, 2].map(() => createSinkQueue({ em: app.orm.em, clock: app.clock, startsAt: 'oldest' }));
  const [first, second] = await Promise.all(queues.map((queue) => queue.claim(['file'])));
  const claims = [...(first?.claimed ?? []), ...(second?.claimed ?? [])];
  assert.is(claims.length, 1);
  const [killed] = claims;
  const [, queue] = queues;
  if (!killed || !queue) return assert.unreachable();
  app.clock.advance(MINUTE_MS - 1);
  assert.is((await queue.claim(['file'])).claimed.length, 0);
  assert.is(await queue.msUntilDue(['file']), 1);
  app.clock.advance(1);
  const [taken] = (await queue.claim(['file'])).claimed;
  assert.is(taken?.attempts, 2);

  // The first one was only slow: its failure does not count any more, its success does.
  await queue.record(killed, 'too late');
  assert.is((await positionOf(app)).last_error, null);
  await queue.record(killed, null);
  const { position } = await positionOf(app);
  assert.is(position, killed.events.at(-1)?.id);
  if (taken) await queue.record(taken, null);
  assert.is((await positionOf(app)).position, position);
});

sinks('start with the oldest event that is kept, or after the newest', async ({ app }) => {
  const { db } = app;
  await record(app, 3);
  const claim = async (startsAt: 'oldest' | 'newest') => {
    await db().deleteFrom('event_sinks').execute();
    return (await createSinkQueue({ em: app.orm.em, clock: app.clock, startsAt }).claim(['file'])).claimed;
  };

  assert.is(await claim('newest').then((claimed) => claimed.length), 0);
  const [batch] = await claim('oldest');
  assert.is(batch?.events.length, (await listed(app)).length);
});

sinks('send again from a position that is set by hand', async ({ app, path }) => {
  await record(app, 3);
  const queue = createSinkQueue({ em: app.orm.em, clock: app.clock, startsAt: 'oldest' });
  const { claimed } = await queue.claim(['file']);
  const [batch] = claimed;
  if (!batch) return assert.unreachable();
  const first = batch.events[0]?.id ?? 0;
  await setRows(app, 'event_sinks', {}, { position: first, next_attempt_at: app.clock.now() });
  await queue.record(batch, null);
  assert.is((await positionOf(app)).position, first, 'a batch that was on its way does not undo it');
  await app.sinkWorker?.drain();

  assert.equal(
    await idsIn(path),
    (await listed(app)).map(({ id }) => id).filter((id) => id > first),
  );
});

sinks.run();
