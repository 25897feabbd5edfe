import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import {
  addAddresses,
  loseResponses,
  mailsTo,
  openConsole,
  pendingOf,
  send,
  showing,
} from '../support/console.ts';
import { emptyOutbox } from '../support/mails.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ROOT } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const invitations = browserSuite('invitations in the console');

/** What Chromium says about a refusal that a test causes. */
const REFUSED = /responded with a status of 4/;
const CHURN = 'Qm3vR8pa';

const addFile = (page: Page, content: string) =>
  page
    .locator('input[type=file]')
    .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(content) });
testAppearance(invitations, {
  'console-invite': async (page, app) => {
    await showing('/console/invite', 'Invite people')(page, app);
    await addFile(
      page,
      'email,apps,is_demo_user\none@look.test,sales churn,\ntwo@look.test,,\nthree@look.test,,perhaps\n',
    );
    await page.getByText('Must be "true" or "false".').waitFor();
  },
  'console-invite-several-clients': showing('/console/invite', 'Invite people', ROOT),
  'console-invite-sent': async (page, app) => {
    await showing('/console/invite', 'Invite people')(page, app);
    await addAddresses(page, 'look@sent.test, again@sent.test');
    await send(page, '2 invitations').click();
    await page.getByText('2 queued').waitFor();
    await page.getByText('Pending').first().waitFor();
  },
});

/** 195 valid rows and five with errors. */
const csvOf200 = (): string => {
  const valid = Array.from({ length: 195 }, (_, index) => `person-${index}@bulk.test,sales,Given ${index}`);
  const invalid = [
    'no-address,sales,A',
    'also@no@where.test,sales,B',
    'ada@acme.test,sales,C',
    'fine@bulk.test,unknown-app,D',
    ',churn,E',
  ];
  return ['email;apps;first_name', ...valid.slice(0, 100), ...invalid, ...valid.slice(100)]
    .join('\n')
    .replaceAll(',', ';');
};

/** Replaces an address of the list of people to invite. */
const fixAddress = async (page: Page, wrong: string, fixed: string): Promise<void> => {
  const row = page.getByRole('row').filter({ has: page.getByRole('button', { name: `Remove ${wrong}` }) });
  await row.getByRole('textbox', { name: /^Email address/ }).fill(fixed);
};

invitations('200 people of a CSV file are invited after five errors were fixed', async ({ app, browser }) => {
  await emptyOutbox(app);
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await addFile(page, csvOf200());
  await page.getByText('200 added.').waitFor();
  await page.getByText('5 rows have errors').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Send 195, keep 5' }).isEnabled());
  await page.getByRole('button', { name: 'Apps of fine@bulk.test: unknown-app' }).click();
  await page.getByRole('checkbox', { name: 'unknown-app (unknown)' }).click();
  await page.keyboard.press('Escape');
  await page.getByText('4 rows have errors').waitFor();
  assert.is((await pendingOf(app, 'bulk.test')).length, 0);
  await page.getByText('An active user of this client already has this address.').waitFor();
  await fixAddress(page, 'no-address', 'first@bulk.test');
  await fixAddress(page, 'also@no@where.test', 'second@bulk.test');
  await fixAddress(page, 'ada@acme.test', 'third@bulk.test');
  await page
    .getByRole('textbox', { name: /^Email address \d+$/ })
    .nth(4)
    .fill('fourth@bulk.test');
  assert.equal(await page.getByRole('alert').allInnerTexts(), []);
  await send(page, '200 invitations').click();
  await waitForHeading(page, 'Invitations created');
  await page.getByText('200 queued').waitFor();

  assert.is((await pendingOf(app, 'bulk.test')).length, 200);
  assert.is((await mailsTo(app, '%@bulk.test')).length, 200);
  const [person] = await pendingOf(app, 'person-7@bulk.test');
  assert.equal([person?.initial_apps, person?.first_name], [[SALES], 'Given 7']);
});

invitations('people without errors are sent, and the others are kept', async ({ app, browser }) => {
  // Those who are sent at the same time are one list.
  app.clock.advance(1_000);
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await addFile(page, 'email,name\na@part.test,Ann Part\nno-address,Bo\nc@part.test,\n');
  await page.getByText('1 row has errors and stays in the list').waitFor();
  await page.getByRole('button', { name: 'Send 2, keep 1' }).click();
  await waitForHeading(page, 'Invitations created');
  await page.getByText('2 queued').waitFor();
  await page.getByText('1 person was not sent').waitFor();
  const address = page.url();
  await page.getByRole('link', { name: 'Back to the other 1' }).click();
  await page.getByRole('textbox', { name: 'Email address' }).waitFor();
  await page.goBack();
  page.once('dialog', (dialog) => void dialog.accept());
  await page.reload();
  await page.getByText('no-address').first().waitFor();
  await page.getByRole('link', { name: 'Back to the other 1' }).click();
  await fixAddress(page, 'no-address', 'b@part.test');
  app.clock.advance(1_000);
  await page.getByText('All of them can be invited.').waitFor();
  await send(page, '1 invitation').click();
  await page.getByText('1 queued').waitFor();

  const invited = await pendingOf(app, 'part.test');
  assert.equal(invited.map(({ email, first_name, last_name }) => [email, first_name, last_name]).toSorted(), [
    ['a@part.test', 'Ann', 'Part'],
    ['b@part.test', 'Bo', ''],
    ['c@part.test', '', ''],
  ]);

  await using other = await browser.open();
  await openConsole(other.page, address, ROOT);
  await waitForHeading(other.page, 'Invitations created');
  await other.page.getByText('2 queued').waitFor();
  const rows = other.page.getByRole('table', { name: 'Invitations created' }).getByRole('row');
  assert.is(await rows.count(), 3, 'the heading, and those who were sent together');
  await other.page.getByRole('link', { name: 'Mails of this list' }).click();
  await waitForHeading(other.page, 'Mails');
  await other.page.getByRole('link', { name: 'a@part.test' }).waitFor();
  assert.is(await other.page.getByRole('table', { name: 'Mails' }).getByRole('row').count(), 3);
});

invitations(
  'a corrected CSV file replaces the first one unless its rows are kept, and a typed address none',
  async ({ app, browser }) => {
    await using visit = await browser.open(REFUSED);
    const { page } = visit;
    await openConsole(page, '/console/invite');
    await addFile(
      page,
      'email,apps,is_demo_user\na@csv.test,saels;churn,true\nb@csv.test,,\nB@csv.test,,\nb@csv.test,sales,\n',
    );
    await page.getByText('3 added. Left out, because they are in the list already: b@csv.test.').waitFor();
    await page.getByText('Line 2: This client has no app saels.').waitFor();
    await page.getByText('Line 5: This address is in the list twice.').waitFor();
    const twice = page.getByRole('row').filter({ hasText: 'Line 5' });
    await twice.getByRole('textbox', { name: /^Email address/ }).fill('c@csv.test');
    await addFile(page, 'email,apps,is_demo_user\na@csv.test,"sales, churn",true\n');
    await page.getByText('0 added, 1 updated. Removed, because the new file does not have them:').waitFor();
    await page.getByRole('heading', { name: '1 person' }).waitFor();
    await page.getByRole('button', { name: 'Keep them' }).click();
    await page.getByRole('heading', { name: '3 people' }).waitFor();
    await page.getByText('All of them can be invited.').waitFor();
    await page.getByText('Acme Analytics · Sales, Churn').waitFor();
    assert.is(await page.getByLabel('Email addresses').isVisible(), false, 'the form is folded');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await addAddresses(page, 'a@csv.test');
    await page.getByText('0 added. Left out, because they are in the list already: a@csv.test.').waitFor();
    await page.getByRole('checkbox', { name: 'a@csv.test is a demo user', checked: true }).waitFor();
    await send(page, '3 invitations').click();
    await waitForHeading(page, 'Invitations created');

    const [person] = await pendingOf(app, 'a@csv.test');
    assert.equal(person?.initial_apps.toSorted(), [CHURN, SALES].toSorted());
  },
);

invitations('cells that cannot be read are errors of their row', async ({ browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await addFile(page, 'email,is_demo_user,apps\na@cell.test,perhaps,\nb@cell.test,false,sales,churn\n');
  await page.getByText('Must be "true" or "false".').waitFor();
  await page.getByText('The line has more cells than the header.').waitFor();
  assert.ok(await send(page, '2 invitations').isDisabled());
});

invitations(
  'a name that is no app stays whole, and keeps its message until it is taken out',
  async (context) => {
    await using visit = await context.browser.open(REFUSED);
    const { page } = visit;
    await openConsole(page, '/console/invite');
    await addFile(page, 'email,apps\na@whole.test,Fleet North\n');
    await page.getByText('Line 2: This client has no app Fleet North.').waitFor();
    await page.getByRole('button', { name: 'Apps of a@whole.test: Fleet North' }).click();
    const boxes = page.getByRole('dialog').getByRole('checkbox');
    assert.is(await boxes.first().getAttribute('value'), 'Fleet North', 'above the apps');
    const checked = page.waitForResponse(/invitations\.create/);
    await page.getByRole('checkbox', { name: 'Churn', exact: true }).check();
    await checked;
    await page.getByText('Line 2: This client has no app Fleet North.').waitFor();
    await boxes.first().uncheck();

    await page.getByText('All of them can be invited.').waitFor();
  },
);

invitations('apps of a file are named by label or slug, in any case', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await addFile(
    page,
    'email,apps\na@label.test,"Sales, Churn"\nb@label.test,SALES;churn\nc@label.test,sales Churn\n',
  );
  await page.getByText('All of them can be invited.').waitFor();
  await send(page, '3 invitations').click();
  await waitForHeading(page, 'Invitations created');

  for (const { initial_apps } of await pendingOf(app, 'label.test'))
    assert.equal(initial_apps.toSorted(), [CHURN, SALES].toSorted());
});

invitations('a row that was changed is checked again, and is not valid until then', async ({ browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await addFile(page, 'email,apps\ngrace@acme.test,\n,sales\nnew@check.test,\n');
  await page.getByText('Line 3: The address is missing.').waitFor();
  await fixAddress(page, 'new@check.test', 'other@check.test');
  const address = page.getByRole('textbox', { name: /^Email address \d+$/ });
  await address.nth(1).fill('some@check.test');
  const top = await address.first().boundingBox();
  await address.first().fill('gra');
  await page.getByText('Checking the list…').waitFor();
  assert.ok(await send(page, '3 invitations').isDisabled());
  await page.getByText('Line 2: Must be an email address').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Send 2, keep 1' }).isEnabled());
  assert.is((await address.first().boundingBox())?.y, top?.y, 'the row that is edited keeps its place');
  await address.first().fill('gra@check.test');

  await page.getByText('All of them can be invited.').waitFor();
  assert.not(await send(page, '3 invitations').isDisabled());
});

invitations('a change of the whole list asks first', async ({ browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await addFile(page, 'name\nnobody\n');
  await page.getByText('The first line must name the columns').waitFor();
  await addFile(page, 'email,apps\na@all.test,sales\nb@all.test,chrn\n');
  await page.getByText('This client has no app chrn.').waitFor();
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.getByRole('button', { name: 'Apply to everyone in the list' }).click();
  const apply = page.getByRole('dialog', { name: 'Apply to 2 people?' });
  await apply.getByText('this removes the apps of everyone in the list').waitFor();
  await apply.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Apps of a@all.test: Sales' }).waitFor();
  await page.getByRole('button', { name: 'Apply to everyone in the list' }).click();
  await apply.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByText('All of them can be invited.').waitFor();
  assert.is(await page.getByText('no app chrn').count(), 0);
  await addFile(page, 'name\nnobody\n');
  await page.getByText('The first line must name the columns').waitFor();
  await page.getByRole('button', { name: 'Remove all' }).click();
  const remove = page.getByRole('dialog', { name: 'Remove 2 people from the list?' });
  await remove.getByRole('button', { name: 'Remove all' }).click();

  await page.getByText('The list is empty').waitFor();
  assert.is(await page.getByText('The first line must name the columns').count(), 0);
});

invitations('without a mail server, admins know it before they send', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await page.getByText('Ask the operator of this service to set one up.').waitFor();
  await addAddresses(page, 'unsent@mail.test');
  await send(page, '1 invitation').click();

  await waitForHeading(page, 'Invitations created');
  await page.getByText('Mails are not sent and stay queued').filter({ visible: true }).waitFor();
  assert.is(await page.getByText('SMTP_URL').count(), 0);
});

invitations('the sample file can be invited from', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/invite');
  const link = page.getByRole('link', { name: 'Download a sample file' });
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  await addFile(page, await readFile(await download.path(), 'utf8'));

  await page.getByText('2 added.').waitFor();
  await page.getByText('All of them can be invited.').waitFor();
});

invitations('pasted addresses are invited with apps and as demo users', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await page.getByRole('button', { name: 'Apps of everyone you add' }).click();
  await page.getByRole('checkbox', { name: 'Churn' }).click();
  await page.keyboard.press('Escape');
  await page.getByLabel('Demo accounts').click();
  await addAddresses(page, '"Doe, Jane" <jane@paste.test>; joe@paste.test,\nJANE@paste.test kim@paste.test');
  await send(page, '3 invitations').click();
  await waitForHeading(page, 'Invitations created');

  const emails = (await pendingOf(app, 'paste.test')).map(({ email }) => email).toSorted();
  assert.equal(emails, ['jane@paste.test', 'joe@paste.test', 'kim@paste.test']);
  const rows = await app
    .db()
    .selectFrom('invitations')
    .selectAll()
    .where('email', 'like', '%@paste.test')
    .execute();
  assert.ok(rows.every(({ is_demo_user }) => is_demo_user));
  assert.equal((await pendingOf(app, 'kim'))[0]?.initial_apps, [CHURN]);
  const [jane] = await pendingOf(app, 'jane@paste');
  assert.equal([jane?.first_name, jane?.last_name], ['Jane', 'Doe']);
});

invitations('a check invites no one', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await addAddresses(page, 'check@only.test');
  await page.getByRole('button', { name: 'Check only' }).click();
  await page.getByText('All of them can be invited.').waitFor();

  assert.is((await pendingOf(app, 'only.test')).length, 0);
});

invitations('a repeat after a lost response sends nothing twice', async ({ app, browser }) => {
  await using visit = await browser.open(/Failed to load resource/);
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await addAddresses(page, 'once@lost.test');
  await page.getByText('All of them can be invited.').waitFor();
  const restore = await loseResponses(page, app, 'invitations.create');
  await send(page, '1 invitation').click();
  await page.getByText('The service cannot be reached. Check your connection.').waitFor();
  assert.is((await mailsTo(app, 'once@lost.test')).length, 1);
  await restore();
  await send(page, '1 invitation').click();
  await waitForHeading(page, 'Invitations created');

  assert.is((await mailsTo(app, 'once@lost.test')).length, 1);
});

invitations.run();
