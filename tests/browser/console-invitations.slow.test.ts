import * as assert from 'uvu/assert';
import { browserSuite } from '../support/browser.ts';
import {
  chooseFilter,
  create,
  goTo,
  mailsTo,
  openConsole,
  pendingOf,
  typeAddresses,
} from '../support/console.ts';
import { backendOf, emptyOutbox, invite, openWorker } from '../support/mails.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { ACME } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const invitations = browserSuite('invitations that were created');

invitations('the delivery of each invitation is shown as it goes on', async ({ app, page }) => {
  await emptyOutbox(app);
  await using smtp = await startSmtpServer();
  smtp.faults.recipient = (address) =>
    address === 'bad@delivery.test' ? { status: 550, text: 'no such mailbox' } : undefined;
  await openConsole(page, '/console/invite');
  await typeAddresses(page, 'good@delivery.test, bad@delivery.test');
  await create(page, '2 invitations').click();
  await page.getByText('2 queued').waitFor();
  const worker = openWorker(backendOf(app), { smtpUrl: smtp.url });
  await worker.start();
  await page.getByText('1 sent, 1 failed').waitFor();
  await worker.stop();

  const row = page.getByRole('row').filter({ hasText: 'bad@delivery.test' });
  assert.match(await row.innerText(), 'No such mailbox');
  assert.match(
    await page.getByRole('row').nth(1).innerText(),
    'bad@delivery.test',
    'failed mails come first',
  );
  await goTo(page, '/console/invitations?search=delivery.test');
  await page.getByRole('button', { name: 'Select failed' }).click();
  await page.getByText('1 selected', { exact: true }).waitFor();
  assert.ok(await page.getByRole('checkbox', { name: 'Select bad@delivery.test' }).isChecked());
  await page.goBack();
  await row.getByRole('button', { name: 'Actions for' }).click();
  await page.getByRole('menuitem', { name: 'Resend' }).click();
  await page.getByText('1 queued, 1 sent').waitFor();
  assert.is((await mailsTo(app, 'bad@delivery.test')).length, 2);
});

invitations('one is found, sent again, opened by its link, and revoked', async ({ app, page }) => {
  const [email = ''] = await invite(app, 2);
  await openConsole(page, '/console/invitations');
  await page.getByText(email).first().waitFor();
  await assertLooksGood(page, 'console-invitations');
  await page.getByRole('searchbox').fill(email);
  await page.waitForURL('**/console/invitations?search=*');
  const act = async (action: string): Promise<void> => {
    await page.getByRole('button', { name: `Actions for ${email}` }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };
  await act('Resend');
  const message = page.getByRole('status').getByText(`The invitation of ${email} is queued again.`);
  await message.waitFor();
  assert.is((await mailsTo(app, email)).length, 2);
  await page.getByRole('button', { name: 'Close' }).click();
  await message.waitFor({ state: 'detached' });

  await act('Show the link');
  const dialog = page.getByRole('dialog', { name: `Link of the invitation of ${email}` });
  const link = await dialog.getByRole('textbox', { name: 'Link' }).inputValue();
  await page.keyboard.press('Escape');
  const other = await page.context().newPage();
  await other.goto(link);
  await other.getByText(email).first().waitFor();
  await other.close();

  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await act('Copy the link');
  await page.getByText('Copied 1 link.').waitFor();
  assert.is(await page.evaluate('navigator.clipboard.readText()'), link);
  await page.getByRole('checkbox', { name: `Select ${email}` }).check();
  assert.ok(await page.getByRole('checkbox', { name: 'Select all that match' }).isChecked());

  await act('Revoke');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('No invitations').waitFor();
  await chooseFilter(page, 'Status', 'Revoked');
  await page.getByRole('row').filter({ hasText: email }).waitFor();
  await until('it is revoked', async () => (await pendingOf(app, email)).length === 0);
});

invitations('all that match are sent again, and then revoked', async ({ app, page }) => {
  const items = Array.from({ length: 120 }, (_, index) => ({ email: `stuck-${index}@many.test` }));
  await app.as(ACME).invitations.create({ items });
  await openConsole(page, '/console/invitations?search=many.test');
  const bar = page.getByRole('region', { name: 'Selected invitations' });
  await page.getByRole('checkbox', { name: 'Select all that match' }).click();
  await bar.getByText('120 selected').waitFor();
  await page
    .getByRole('checkbox', { name: /^Select stuck-/ })
    .first()
    .uncheck();
  await bar.getByRole('button', { name: 'Resend…' }).click();
  const resend = page.getByRole('dialog', { name: 'Resend 119 invitations?' });
  await resend.getByRole('button', { name: 'Resend', exact: true }).click();
  await page.getByText('Resent: 119').waitFor();
  assert.is((await mailsTo(app, '%@many.test')).length, 239);
  await page.getByRole('checkbox', { name: 'Select all that match' }).click();
  await bar.getByRole('button', { name: 'Revoke…' }).click();
  const revoke = page.getByRole('dialog', { name: 'Revoke 120 invitations?' });
  await revoke.getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('Revoked: 120').waitFor();
  assert.is((await pendingOf(app, 'many.test')).length, 0);
});

invitations.run();
