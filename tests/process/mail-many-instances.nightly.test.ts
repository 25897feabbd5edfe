import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { emptyOutbox, invite } from '../support/mails.ts';
import { rowsOf } from '../support/rows.ts';
import { parseMail, startSmtpServer } from '../support/smtp-server.ts';
import { suiteWith } from '../support/suite.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const WORKER = join(import.meta.dirname, '../fixtures/mail-worker.ts');
const MAILS = 1000;
/** Short, so that other workers soon send the mails of a killed one. */
const SHORT_LEASE_MS = 3_000;
/** Longer than a busy machine needs for a mail: a lease that expires is no fault, but repeats the mail. */
const LONG_LEASE_MS = 120_000;
const PATIENCE_MS = 300_000;

const start = async (started: AsyncDisposableStack) => {
  const app = await startTestApp();
  started.defer(app.close);
  return { app };
};
const startEach = async (started: AsyncDisposableStack, { app }: { app: TestApp }) => {
  await emptyOutbox(app);
  const smtp = started.use(await startSmtpServer());
  const children: ChildProcess[] = [];
  started.defer(async () => void (await Promise.all(children.map((child) => end(child, 'SIGKILL')))));
  return { app, smtp, children };
};
type Context = Awaited<ReturnType<typeof startEach>>;

const instances = suiteWith('several mail workers on one outbox', start, startEach);

const startWorker = async (
  { app, smtp, children }: Context,
  leaseMs = SHORT_LEASE_MS,
): Promise<ChildProcess> => {
  const argument = JSON.stringify({
    connection: app.connection,
    smtpUrl: smtp.url,
    leaseMs,
    backoffMs: 50,
  });
  const child = spawn(process.execPath, [WORKER, argument], { stdio: ['ignore', 'pipe', 'inherit'] });
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

const countUnsent = async ({ app }: Context): Promise<number> =>
  (await rowsOf(app, 'outbox_mails', { sent_at: null })).length;

/** Counts a mail with a repeated message id once. */
const countDuplicates = async ({ smtp }: Context): Promise<number> => {
  const ids = await Promise.all(smtp.taken.map(async (mail) => (await parseMail(mail)).messageId));
  return ids.length - new Set(ids).size;
};

instances('send each of 1,000 mails exactly once', async (context) => {
  const emails = await invite(context.app, MAILS);
  const started = performance.now();
  const workers = await Promise.all([1, 2, 3].map(() => startWorker(context, LONG_LEASE_MS)));

  await until('all are sent', async () => (await countUnsent(context)) === 0, PATIENCE_MS);
  const seconds = (performance.now() - started) / 1000;
  await Promise.all(workers.map((child) => end(child, 'SIGTERM')));

  assert.equal(context.smtp.recipients().sort(), emails.sort());
  assert.is(await countDuplicates(context), 0);
  const { counts } = await context.app
    .db()
    .selectFrom('invitations')
    .select((eb) => eb.fn.sum<string>('email_count').as('counts'))
    .executeTakeFirstOrThrow();
  assert.is(Number(counts), MAILS);
  console.log(`${MAILS} mails by 3 processes in ${seconds.toFixed(1)} s, no duplicate`);
});

instances('send the mails of a killed worker, and repeat those it did not record', async (context) => {
  const { smtp } = context;
  const [asked = '', handedOver = ''] = await invite(context.app, 2);
  smtp.faults.recipient = (email) => (email === asked ? 'hang' : undefined);
  smtp.faults.message = () => 'hang';
  const killed = await startWorker(context);
  await until('the server has one, and hears of the other', () => smtp.taken.length === 1 && smtp.peak() > 1);
  await end(killed, 'SIGKILL');
  delete smtp.faults.recipient;
  delete smtp.faults.message;

  const worker = await startWorker(context);
  await until('both are sent', async () => (await countUnsent(context)) === 0);
  await end(worker, 'SIGTERM');

  assert.equal(smtp.recipients().sort(), [asked, handedOver, handedOver].sort());
  assert.is(await countDuplicates(context), 1);
});

instances.run();
