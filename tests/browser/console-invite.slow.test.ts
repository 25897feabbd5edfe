import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, REFUSED, waitForHeading } from '../support/browser.ts';
import {
  create,
  goTo,
  listAddresses,
  mailsTo,
  openConsole,
  pendingOf,
  typeAddresses,
} from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ROOT } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const invitations = browserSuite('inviting people in the console', REFUSED);

const addFile = (page: Page, content: string) =>
  page
    .locator('input[type=file]')
    .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(content) });

/** Replaces an address of the list of people to invite. */
const fixAddress = async (page: Page, wrong: string, fixed: string): Promise<void> => {
  const row = page.getByRole('row').filter({ has: page.getByRole('button', { name: `Remove ${wrong}` }) });
  await row.getByRole('textbox', { name: /^Email address/ }).fill(fixed);
};
/** For all who are invited. */
const chooseApp = async (page: Page, label: string): Promise<void> => {
  await page.getByRole('button', { name: /^Apps: / }).click();
  await page.getByRole('checkbox', { name: label, exact: true }).check();
  await page.keyboard.press('Escape');
};
const canInviteAll = (page: Page): Promise<void> => page.getByText('All of them can be invited.').waitFor();
const isSent = (page: Page): Promise<void> => waitForHeading(page, 'Invitations created');

invitations('people of a CSV file are invited after its errors were fixed', async ({ app, page }) => {
  await openConsole(page, '/console/invite');
  await addFile(
    page,
    [
      'email;apps;first_name;is_demo_user',
      'one@bulk.test;Sales, churn;Given 1;true',
      'no-address;sales;A;',
      'ada@acme.test;sales;C;',
      'fine@bulk.test;unknown-app;D;',
      ';churn;E;',
      'six@bulk.test;SALES churn;F;perhaps',
      'seven@bulk.test;;G;;more',
    ].join('\n'),
  );
  await page.getByText('7 added.').waitFor();
  await page.getByText('6 rows have errors').waitFor();
  await page.getByText('Must be "true" or "false".').waitFor();
  await page.getByText('The line has more cells than the header.').waitFor();
  await page.getByText('An active user of this client already has this address.').waitFor();
  await assertLooksGood(page, 'console-invite');
  for (const email of ['six@bulk.test', 'seven@bulk.test'])
    await page.getByRole('button', { name: `Remove ${email}` }).click();
  assert.ok(await page.getByRole('button', { name: 'Create 1, keep 4' }).isEnabled());

  await page.getByRole('button', { name: 'Apps of fine@bulk.test: unknown-app' }).click();
  const checked = page.waitForResponse(/invitations\.create/);
  await page.getByRole('checkbox', { name: 'Churn', exact: true }).check();
  await checked;
  await page.getByText('This client has no app unknown-app.').waitFor();
  await page.getByRole('dialog').getByRole('checkbox').first().uncheck();
  await page.keyboard.press('Escape');
  await page.getByText('3 rows have errors').waitFor();
  await fixAddress(page, 'no-address', 'first@bulk.test');
  await page.getByText('2 rows have errors').waitFor();
  await fixAddress(page, 'ada@acme.test', 'third@bulk.test');
  await page.getByText('1 row has errors').waitFor();
  await page.locator('main [aria-invalid=true]').first().fill('fourth@bulk.test');
  await canInviteAll(page);

  assert.is((await pendingOf(app, 'bulk.test')).length, 0);
  await create(page, '5 invitations').click();
  await isSent(page);
  await page.getByText('5 queued').waitFor();
  await assertLooksGood(page, 'console-invite-sent');

  assert.is((await pendingOf(app, 'bulk.test')).length, 5);
  assert.is((await mailsTo(app, '%@bulk.test')).length, 5);
  const [person] = await pendingOf(app, 'one@bulk.test');
  assert.equal([person?.initial_apps.toSorted(), person?.first_name], [[CHURN, SALES].toSorted(), 'Given 1']);
});

invitations('people without errors are sent, and the others are kept', async ({ app, browser, page }) => {
  // Those who are sent at the same time are one list.
  app.clock.advance(1_000);
  await openConsole(page, '/console/invite');
  await addFile(page, 'email,name\na@part.test,Ann Part\nno-address,Bo\nc@part.test,\n');
  await page.getByText('1 row has errors and stays in the list').waitFor();
  await page.getByRole('button', { name: 'Create 2, keep 1' }).click();
  await isSent(page);
  await page.getByText('2 queued').waitFor();
  await page.getByText('1 person was not sent').waitFor();
  await page.getByRole('link', { name: 'Back to the other 1' }).click();
  await page.getByRole('textbox', { name: 'Email address' }).waitFor();
  await fixAddress(page, 'no-address', 'b@part.test');
  await browser.advance(1_000);
  await canInviteAll(page);
  await create(page, '1 invitation').click();
  await page.getByText('1 queued').waitFor();
  const invited = await pendingOf(app, 'part.test');
  assert.equal(invited.map(({ email, first_name, last_name }) => [email, first_name, last_name]).toSorted(), [
    ['a@part.test', 'Ann', 'Part'],
    ['b@part.test', 'Bo', ''],
    ['c@part.test', '', ''],
  ]);
});

invitations('ask for the client first if there are several, and remember the answer', async ({ page }) => {
  await openConsole(page, '/console/invite', ROOT);
  const question = page.getByRole('region', { name: 'Which client?' });
  await question.getByRole('option', { name: 'Acme Analytics' }).waitFor();
  await assertLooksGood(page, 'console-which-client');
  await question.getByRole('textbox', { name: 'Which client?' }).fill('glo');
  await page.keyboard.press('Enter');
  await waitForHeading(page, 'Invite people');
  await page.getByRole('combobox', { name: 'Client' }).waitFor();
  await assertLooksGood(page, 'console-invite-several-clients');
  await goTo(page, '/console/groups');
  await page.getByText(/^Teams of Globex/).waitFor();
});

invitations('a corrected file replaces the first one unless its rows are kept', async ({ app, page }) => {
  await openConsole(page, '/console/invite');
  await addFile(page, 'email,apps\na@csv.test,saels;churn\nb@csv.test,\nB@csv.test,\nb@csv.test,sales\n');
  await page.getByText('3 added. Left out, because they are in the list already: b@csv.test.').waitFor();
  await page.getByText('Line 2: This client has no app saels.').waitFor();
  await page.getByText('Line 5: This address is in the list twice.').waitFor();
  const twice = page.getByRole('row').filter({ hasText: 'Line 5' });
  await twice.getByRole('textbox', { name: /^Email address/ }).fill('c@csv.test');
  await addFile(page, 'email,apps\na@csv.test,"sales, churn"\n');
  await page.getByText('0 added, 1 updated. Removed, because the new file does not have them:').waitFor();
  await page.getByRole('heading', { name: '1 person' }).waitFor();
  await page.getByRole('button', { name: 'Keep them' }).click();
  await page.getByRole('heading', { name: '3 people' }).waitFor();
  await canInviteAll(page);
  await page.getByText('Acme Analytics · Sales, Churn').waitFor();
  assert.is(await page.getByLabel('Email addresses').isVisible(), false, 'the form is folded');
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await listAddresses(page, 'a@csv.test d@csv.test');
  await page.getByText('1 added. Left out, because they are in the list already: a@csv.test.').waitFor();

  await page.getByText('2 of 4 get no apps. Choose apps above, or grant them later.').waitFor();
  await chooseApp(page, 'Churn');
  await page.getByRole('button', { name: 'Apps of a@csv.test: Sales, Churn' }).waitFor();
  await page.getByRole('button', { name: 'Apps of c@csv.test: Sales' }).waitFor();
  await page.getByRole('button', { name: 'Apps of d@csv.test: Churn' }).waitFor();
  await addFile(page, 'name\nnobody\n');
  await page.getByText('The first line must name the columns').waitFor();
  await page.getByRole('button', { name: 'Remove all' }).click();
  const remove = page.getByRole('dialog', { name: 'Remove 4 people from the list?' });
  await remove.getByRole('button', { name: 'Remove all' }).click();
  await page.getByRole('heading', { name: '4 people' }).waitFor({ state: 'detached' });
  assert.is(await page.getByText('The first line must name the columns').count(), 0);
  assert.is((await pendingOf(app, 'csv.test')).length, 0);
});

invitations('pasted addresses are invited with apps', async ({ app, page }) => {
  // A list is what was invited at one time.
  app.clock.advance(1_000);
  await openConsole(page, '/console/invite');
  await typeAddresses(page, '"Doe, Jane" <jane@paste.test>; joe@paste.test,\nJANE@paste.test kim@paste.test');
  await page.getByText('They get no apps. Choose apps above, or grant them later.').waitFor();
  await chooseApp(page, 'Churn');
  await page.getByRole('button', { name: 'More options' }).click();
  await page.getByLabel('Demo accounts').click();
  await create(page, '3 invitations').click();
  await isSent(page);
  await page.getByRole('row').filter({ hasText: 'jane@paste.test' }).getByText('Churn').waitFor();
  await page.getByText('Mails wait: no mail server is set up.').filter({ visible: true }).waitFor();
  await page.getByRole('button', { name: 'What you can do' }).click();
  await page.getByText('Pass the links of invitations on yourself').waitFor();
  await page.keyboard.press('Escape');
  assert.is(await page.getByText('SMTP_URL').count(), 0);
  await page.evaluate('navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }');
  await page.getByRole('button', { name: 'Copy all links' }).click();
  await page.getByText('Copied 3 links with their addresses.').waitFor();
  const copied = String(await page.evaluate('copied'));
  assert.is(copied.match(/^\w+@paste\.test\thttp.*signature=/gm)?.length, 3, copied);

  assert.is((await mailsTo(app, '%@paste.test')).length, 3);
  const invited = (await pendingOf(app, 'paste.test')).map(({ email, last_name }) => [email, last_name]);
  assert.equal(invited.toSorted(), [
    ['jane@paste.test', 'Doe'],
    ['joe@paste.test', ''],
    ['kim@paste.test', ''],
  ]);
  const rows = app.db().selectFrom('invitations').selectAll().where('email', 'like', '%@paste.test');
  for (const row of await rows.execute()) assert.ok(row.is_demo_user);
  assert.equal((await pendingOf(app, 'kim'))[0]?.initial_apps, [CHURN]);
});

invitations('addresses that are refused become a list, and nothing is sent', async ({ app, page }) => {
  await openConsole(page, '/console/invite');
  await typeAddresses(page, 'ada@acme.test');
  await create(page, '1 invitation').click();
  await page.getByText('1 row has errors').waitFor();
  await typeAddresses(page, 'new@typed.test');
  await page.getByRole('button', { name: 'Create 1, keep 1' }).click();
  await page.getByText('1 person was not sent').waitFor();
  assert.is((await pendingOf(app, 'typed.test')).length, 1);
  assert.is((await pendingOf(app, 'ada@acme.test')).length, 0);
});

invitations.run();
