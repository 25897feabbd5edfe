import * as assert from 'uvu/assert';
import { backendOf, emptyOutbox, invite, openWorker } from '../support/mails.ts';
import { rowsOf } from '../support/rows.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { suiteWith } from '../support/suite.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { eventually, until } from '../support/time.ts';

const stopping = suiteWith(
  'a mail worker that is stopped',
  async (started) => {
    const app = await startTestApp();
    started.defer(app.close);
    return { app };
  },
  async (started, { app }) => {
    await emptyOutbox(app);
    return { smtp: started.use(await startSmtpServer()) };
  },
);

const mailsOf = (app: TestApp) => rowsOf(app, 'outbox_mails');
const PLENTY = 50;

stopping('completes the mail that is being sent, and claims no more', async ({ app, smtp }) => {
  await invite(app, PLENTY);
  const worker = openWorker(backendOf(app), { smtpUrl: smtp.url });
  worker.start();
  await until('some are sent', () => smtp.taken.length > 3);

  await worker.stop();
  const mails = await mailsOf(app);

  const sent = mails.filter((mail) => mail.sent_at);
  assert.is(sent.length, smtp.taken.length);
  assert.ok(sent.length < PLENTY);
  for (const mail of mails.filter(({ sent_at }) => !sent_at)) {
    assert.equal([mail.attempts, mail.next_attempt_at], [0, mail.created_at]);
  }
});

stopping('aborts a hanging mail in time, and delays it', async ({ app, smtp }) => {
  await invite(app, PLENTY);
  smtp.faults.sender = () => 'hang';
  const worker = openWorker(backendOf(app), { smtpUrl: smtp.url, stopMs: 50 });
  worker.start();
  await until('some are being sent', () => smtp.peak() === 5);

  await worker.stop();

  // The worker need not wait until the failures are recorded.
  await eventually(async () => {
    const tried = (await mailsOf(app)).filter(({ last_error }) => last_error !== null);
    assert.is(tried.length, 5);
    for (const mail of tried) {
      assert.is(mail.attempts, 1);
      assert.is(mail.failed_at, null);
      // Delayed by about a minute, not kept for the rest of the lease.
      assert.ok(mail.next_attempt_at.getTime() - app.clock.now().getTime() < 2 * 60_000);
    }
  });
});

stopping.run();
