import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { MAILS_IN_FLIGHT } from '../../src/services/mail/mail-worker.ts';
import { emptyOutbox, invite } from '../support/mails.ts';
import { parseMail, startSmtpServer, type TestSmtpServer } from '../support/smtp-server.ts';
import { suite } from '../support/suite.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const WORKER = join(import.meta.dirname, '../fixtures/mail-worker.ts');
const MAILS = 1000;
const FEWER = 400;
/** Short, so that other workers soon send the mails of a killed one. */
const SHORT_LEASE_MS = 3_000;
/** Longer than a busy machine needs for a mail: a lease that expires is no fault, but repeats the mail. */
const LONG_LEASE_MS = 120_000;
const PATIENCE_MS = 300_000;

type Context = { app: TestApp; smtp: TestSmtpServer; children: ChildProcess[] };

const instances = suite<Context>('several mail workers on one outbox');

instances.before(async (context) => {
  context.app = await startTestApp();
});
instances.after(({ app }) => app.close());
instances.before.each(async (context) => {
  await emptyOutbox(context.app);
  context.smtp = await startSmtpServer();
  context.children = [];
});
instances.after.each(async ({ smtp, children }) => {
  await Promise.all(children.map((child) => end(child, 'SIGKILL')));
  await smtp.close();
});

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

const countUnsent = async ({ app }: Context): Promise<number> => {
  const { count } = await app
    .db()
    .selectFrom('outbox_mails')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('sent_at', 'is', null)
    .executeTakeFirstOrThrow();
  return count;
};

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

instances(
  'lose no mail of a killed worker, and repeat at most the mails that it was sending',
  async (context) => {
    const { smtp } = context;
    const emails = await invite(context.app, FEWER);
    const workers = await Promise.all([1, 2, 3].map(() => startWorker(context)));
    const [first, second, third] = workers;
    if (!first || !second || !third) return assert.unreachable();
    await until('some are sent', () => smtp.taken.length > FEWER / 5);
    await end(first, 'SIGKILL');
    await until('more are sent', () => smtp.taken.length > FEWER / 2);
    await end(second, 'SIGKILL');

    await until('all are sent', async () => (await countUnsent(context)) === 0, PATIENCE_MS);
    await end(third, 'SIGTERM');
    const duplicates = await countDuplicates(context);

    assert.equal([...new Set(smtp.recipients())].sort(), emails.sort());
    assert.ok(duplicates <= 2 * MAILS_IN_FLIGHT, `${duplicates} duplicates`);
    console.log(`two of three killed: ${duplicates} duplicates`);
  },
);

instances(
  'send the mails of a killed worker, and repeat those whose acceptance it did not record',
  async (context) => {
    const { smtp } = context;
    const [asked = '', handedOver = ''] = await invite(context.app, 2);
    smtp.faults.recipient = (email) => (email === asked ? 'hang' : undefined);
    smtp.faults.message = () => 'hang';
    const killed = await startWorker(context);
    await until(
      'the server has one, and hears of the other',
      () => smtp.taken.length === 1 && smtp.peak() > 1,
    );
    await end(killed, 'SIGKILL');
    delete smtp.faults.recipient;
    delete smtp.faults.message;

    const worker = await startWorker(context);
    await until('both are sent', async () => (await countUnsent(context)) === 0);
    await end(worker, 'SIGTERM');

    assert.equal(smtp.recipients().sort(), [asked, handedOver, handedOver].sort());
    assert.is(await countDuplicates(context), 1);
  },
);

instances.run();
