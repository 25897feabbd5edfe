import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { createAudit, NO_ORIGIN } from '../../src/services/audit/audit.ts';
import { suite } from '../support/suite.ts';
import { ROOT, SECRET_KEY, startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const WORKER = join(import.meta.dirname, '../fixtures/webhook-worker.ts');
const SUBJECTS = 20;
const EVENTS = 400;
/** Of one webhook. */
const AT_ONCE = 5;
const PATIENCE_MS = 120_000;

type Context = { app: TestApp; receiver: Receiver; children: ChildProcess[] };

const killed = suite<Context>('workers of webhooks that are killed');

killed.before(async (context) => {
  context.app = await startTestApp();
  context.receiver = await startReceiver();
  context.children = [];
});
killed.after(async ({ app, receiver, children }) => {
  await Promise.all(children.map((child) => end(child, 'SIGKILL')));
  receiver.close();
  await app.close();
});

const startWorker = async ({ app, children }: Context): Promise<ChildProcess> => {
  const settings = { connection: app.connection, secretKey: SECRET_KEY, leaseMs: 3_000, backoffMs: 50 };
  const child = spawn(process.execPath, [WORKER, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  child.stdout.resume();
  return child;
};

const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
};

killed('lose no event, keep the order of each subject, and repeat few, with the same id', async (context) => {
  const { app, receiver } = context;
  await app.as(ROOT).webhooks.create({ url: receiver.url, types: ['mfa.failed'] });
  // A tenth of the attempts fail.
  let attempts = 0;
  receiver.answer = () => (++attempts % 10 === 0 ? 500 : 204);
  const workers = await Promise.all([1, 2, 3].map(() => startWorker(context)));
  const [first, second, third] = workers;
  if (!first || !second || !third) return assert.unreachable();

  const audit = createAudit(NO_ORIGIN, systemClock);
  for (let n = 0; n < EVENTS; n++) {
    const target = `subject ${n % SUBJECTS}`;
    await app.orm.em
      .fork()
      .transactional((tx) => audit.record(tx, [{ action: 'mfa.fail', actor: null, target }]));
    if (n === EVENTS / 4) await end(first, 'SIGKILL');
    if (n === EVENTS / 2) await end(second, 'SIGKILL');
  }
  const delivered = app
    .db()
    .selectFrom('webhook_deliveries')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('delivered_at', 'is not', null);
  await until(
    'all are delivered',
    async () => Number((await delivered.executeTakeFirstOrThrow()).count) === EVENTS,
    PATIENCE_MS,
  );
  await end(third, 'SIGTERM');

  const bySubject = Map.groupBy(receiver.received, ({ data }) => data.subject);
  assert.is(bySubject.size, SUBJECTS);
  for (const [subject, got] of bySubject) {
    const ids = got.map(({ data }) => data.id);
    assert.equal(
      ids,
      ids.toSorted((a, b) => a - b),
      subject,
    );
    assert.is(new Set(ids).size, EVENTS / SUBJECTS, subject);
  }
  assert.ok(receiver.received.every(({ id, data }) => id === `evt_${data.id}`));
  const { rejected, repeated } = { rejected: Math.floor(attempts / 10), repeated: attempts - EVENTS };
  assert.ok(repeated - rejected <= 2 * AT_ONCE, `${repeated} repeated, ${rejected} of them refused`);
  console.log(`two of three killed: ${repeated - rejected} duplicates`);
});

killed.run();
