import * as assert from 'uvu/assert';
import { browserSuite } from '../support/browser.ts';
import {
  addAddresses,
  chooseFilter,
  loseResponses,
  mailsTo,
  openConsole,
  pendingOf,
  send,
  showing,
} from '../support/console.ts';
import { backendOf, emptyOutbox, invite, mailTo, openWorker } from '../support/mails.ts';
import { testAppearance } from '../support/screenshots.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { ACME } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const invitations = browserSuite('invitations that were created');

testAppearance(invitations, {
  'console-invitations': async (page, app) => {
    await invite(app, 3);
    await showing('/console/invitations', 'Invitations')(page, app);
  },
});

invitations('the delivery of each invitation is shown as it goes on', async ({ app, browser }) => {
  await emptyOutbox(app);
  await using smtp = await startSmtpServer();
  smtp.faults.recipient = (address) =>
    address === 'bad@delivery.test' ? { status: 550, text: 'no such mailbox' } : undefined;
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await addAddresses(page, 'good@delivery.test, bad@delivery.test');
  await send(page, '2 invitations').click();
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
  await openConsole(page, '/console/invitations?search=delivery.test');
  await page.getByRole('button', { name: 'Select failed' }).click();
  await page.getByText('1 selected', { exact: true }).waitFor();
  assert.ok(await page.getByRole('checkbox', { name: 'Select bad@delivery.test' }).isChecked());
  await page.goBack();
  await row.getByRole('button', { name: 'Actions for' }).click();
  await page.getByRole('menuitem', { name: 'Resend' }).click();
  await page.getByText('1 queued, 1 sent').waitFor();
  assert.is((await mailsTo(app, 'bad@delivery.test')).length, 2);
});

invitations('the message about a change covers nothing of the screen, and can be closed', async (context) => {
  const { app, browser } = context;
  const [email = ''] = await invite(app, 1);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/invitations?search=${email}`);
  await page.getByRole('button', { name: `Actions for ${email}` }).click();
  await page.getByRole('menuitem', { name: 'Resend' }).click();
  const message = page.getByRole('status').getByText(`The invitation of ${email} is queued again.`);
  await message.hover();
  const [box, screen] = [await message.boundingBox(), await page.getByRole('main').boundingBox()];
  await page.getByRole('button', { name: 'Close' }).click();
  await message.waitFor({ state: 'detached' });

  assert.ok(box && screen && box.x + box.width <= screen.x);
});

invitations(
  'an invitation is found by its address, revoked, and then listed as revoked',
  async ({ app, browser }) => {
    const [email = ''] = await invite(app, 2);
    await using visit = await browser.open();
    const { page } = visit;
    await openConsole(page, '/console/invitations');
    await page.getByRole('searchbox').fill(email);
    await page.waitForURL('**/console/invitations?search=*');
    await page.getByRole('button', { name: `Actions for ${email}` }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke the invitation?' });
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No invitations').waitFor();
    await chooseFilter(page, 'Status', 'Revoked');

    await page.getByRole('row').filter({ hasText: email }).waitFor();
    await until('it is revoked', async () => (await pendingOf(app, email)).length === 0);
  },
);

invitations('a resend that is repeated after a lost response sends one mail', async ({ app, browser }) => {
  const [email = ''] = await invite(app, 1);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/invitations?search=${email}`);
  const resend = async (): Promise<void> => {
    await page.getByRole('button', { name: `Actions for ${email}` }).click();
    await page.getByRole('menuitem', { name: 'Resend' }).click();
  };
  const restore = await loseResponses(page, app, 'invitations.resend');
  await resend();
  await page.getByText('The service cannot be reached. Check your connection.').waitFor();
  await restore();
  await resend();
  await page.getByText(`The invitation of ${email} is queued again.`).waitFor();

  assert.is((await mailsTo(app, email)).length, 2);
  await page.getByRole('row', { name: email }).getByRole('link', { name: 'Queued' }).click();
  await page.getByText(`To ${email}`).waitFor();
});

invitations('the link is shown to an admin while no mail server is configured', async ({ app, browser }) => {
  const [email = ''] = await invite(app, 1);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/invitations?search=${email}`);
  await page.getByRole('button', { name: `Actions for ${email}` }).click();
  await page.getByRole('menuitem', { name: 'Show the link' }).click();
  const dialog = page.getByRole('dialog', { name: `Link of the invitation of ${email}` });
  const link = await dialog.getByRole('textbox', { name: 'Link' }).inputValue();
  await page.goto(link);

  await page.getByText(email).first().waitFor();
  assert.ok(await mailTo(app, email));
});

invitations('all invitations that match are resent, and then revoked', async ({ app, browser }) => {
  const items = Array.from({ length: 120 }, (_, index) => ({ email: `stuck-${index}@many.test` }));
  await app.as(ACME).invitations.create({ items });
  await using visit = await browser.open();
  const { page } = visit;
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
