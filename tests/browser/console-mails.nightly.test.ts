import * as assert from 'uvu/assert';
import { browserSuite, REFUSED, waitForHeading } from '../support/browser.ts';
import { chooseFilter, goTo, openConsole } from '../support/console.ts';
import { backendOf, invite, mailTo, openWorker, outboxOf } from '../support/mails.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { ACME, STAFF, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const NO_USER = '5.1.1 unknown user';
const mails = browserSuite('mails in the console', REFUSED);

/** Invites two people; the mail server takes one mail and refuses the other. */
const sendAndRefuse = async (app: TestApp) => {
  const [taken = '', refused = ''] = await invite(app, 2);
  await using smtp = await startSmtpServer();
  smtp.faults.recipient = (address) => (address === refused ? { status: 550, text: NO_USER } : undefined);
  const worker = openWorker(backendOf(app), { smtpUrl: smtp.url });
  await worker.start();
  await until('one mail is refused', async () => (await mailTo(app, refused)).failed_at !== null);
  await until('one mail is sent', async () => (await mailTo(app, taken)).sent_at !== null);
  await worker.stop();
  return { taken, refused };
};

mails('failed ones are found by the filters of the address, and sent again', async ({ app, page }) => {
  const { taken, refused } = await sendAndRefuse(app);
  await openConsole(page, '/console/mails');
  await page.getByRole('row', { name: taken }).waitFor();
  await page.getByText('Mails wait: no mail server is set up.').waitFor();
  await assertLooksGood(page, 'console-mails');
  await chooseFilter(page, 'Status', 'Failed');
  await page.waitForURL('**/console/mails?status=failed');
  await page.getByRole('searchbox').fill(refused.toUpperCase());
  await page.waitForURL('**/console/mails?status=failed&search=*');
  await page.reload();
  const row = page.getByRole('row', { name: refused });
  assert.match(String(await row.getByText('No such mailbox').getAttribute('title')), NO_USER);
  assert.is(await page.getByRole('row', { name: taken }).count(), 0);

  await goTo(page, `/console/mails/${(await mailTo(app, refused)).id}`);
  await page.getByText('This mail was not sent: No such mailbox').waitFor();
  await page.getByRole('alert').getByText(NO_USER).waitFor();
  await assertLooksGood(page, 'console-mail');
  await page.getByRole('button', { name: 'Retry now' }).click();
  await page.getByText('the mail stays queued. A superuser can copy its link').waitFor();
  assert.is((await mailTo(app, refused)).failed_at, null);
});

mails('one of a revoked invitation is shown in a sandbox, and not sent', async ({ app, page }) => {
  const [email = ''] = await invite(app, 1);
  const { id, invitation_id } = await mailTo(app, email);
  await app.as(ACME).invitations.revoke({ id: invitation_id ?? 0 });
  await openConsole(page, `/console/mails/${id}`);
  await page.getByText('Mails wait: no mail server is set up.').waitFor();
  const frame = page.locator('iframe');
  await frame.contentFrame().getByText('You have been invited to Acme Analytics.').waitFor();
  assert.is(await frame.getAttribute('sandbox'), '');
  await page.getByRole('tab', { name: 'Text' }).click();
  await page.locator('pre').getByText('You have been invited to Acme Analytics.').waitFor();
  assert.is(await page.getByRole('button', { name: 'Retry now' }).count(), 0);
  await outboxOf(app).prune({ isSent: false });
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('alert').getByText('The invitation has been revoked.').waitFor();

  await openConsole(page, `/console/mails/${id}`, STAFF);
  await waitForHeading(page, "You've been invited to Acme Analytics");
  assert.is(await page.getByRole('button', { name: 'Retry now' }).count(), 0);
});

mails.run();
