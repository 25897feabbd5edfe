import type { Locator, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, fillLogin, waitForHeading } from '../support/browser.ts';
import { openConsole, watchCalls } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, EDSGER, GRACE, ROOT } from '../support/test-app.ts';
import { eventually } from '../support/time.ts';
import { CHURN, SALES } from '../support/usage.ts';

const conflicts = browserSuite('conflicts between editors in the console');

/** What Chromium says about a refusal that a test causes. */
const REFUSAL = /responded with a status of 4/;
const TITLE = 'This was changed since you opened it';

const save = (page: Page, name = 'Save'): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click();

/** The versions of a field, in the dialog. */
const versionsOf = (page: Page, label: string): Locator =>
  page.getByRole('dialog', { name: TITLE }).getByRole('radiogroup', { name: label });

const isSaved = (page: Page): Promise<void> => page.getByText('Saved.').waitFor();

testAppearance(
  conflicts,
  {
    'console-conflict': async (page, app) => {
      await openConsole(page, `/console/people/${EDSGER}?tab=profile`, ROOT);
      await page.getByLabel('First name').fill('E. W.');
      const first_name = `Edsger ${Date.now()}`;
      await app.as(ROOT).users.update({ email: EDSGER, first_name, last_name: `of ${first_name}` });
      await save(page);
      await versionsOf(page, 'First name').waitFor();
    },
  },
  REFUSAL,
);

conflicts(
  'the second of two admins who rename a person chooses between both names',
  async ({ app, browser }) => {
    await using first = await browser.open();
    await using second = await browser.open(REFUSAL);
    const { page } = second;
    await openConsole(first.page, `/console/people/${GRACE}?tab=profile`, ROOT);
    await openConsole(page, `/console/people/${GRACE}?tab=profile`);
    await page.getByLabel('First name').fill('Mine');
    await page.getByLabel('Last name').fill('Murray');
    await first.page.getByLabel('First name').fill('Theirs');
    await save(first.page);
    await isSaved(first.page);
    await save(page);
    const versions = versionsOf(page, 'First name');
    await versions.waitFor();

    assert.match(
      await versions.innerText(),
      /When you opened it\s+Grace\s+Now on the server\s+Theirs\s+Yours\s+Mine/,
    );
    await page.getByRole('dialog').getByText(`Last changed by ${ROOT}`).waitFor();
    assert.is(
      await page.getByRole('dialog').getByRole('radiogroup').count(),
      1,
      'fields that only one of them changed need no choice',
    );
    const choose = page.getByRole('button', { name: 'Save my choice' });
    assert.ok(await choose.isDisabled());
    const kept = await app.as(ROOT).users.get({ email: GRACE });
    assert.equal([kept.first_name, kept.last_name], ['Theirs', 'Hopper']);
    await versions.getByLabel('Yours').check();
    await choose.click();
    await isSaved(page);
    await waitForHeading(page, 'Mine Murray');
    const saved = await app.as(ROOT).users.get({ email: GRACE });
    assert.equal([saved.first_name, saved.last_name], ['Mine', 'Murray']);
  },
);

conflicts('changes of other fields are merged without a question', async ({ app, browser }) => {
  await using visit = await browser.open(REFUSAL);
  const { page } = visit;
  await openConsole(page, `/console/apps/${SALES}?tab=texts`);
  await page.getByLabel('Name', { exact: true }).fill('Sales of Acme');
  const before = await app.as(ROOT).apps.get({ app_id: SALES });
  const show_help = !before.show_help;
  await app.as(ROOT).apps.update({ app_id: SALES, help_html: '<p>Ask Root.</p>', show_help });
  await save(page, 'Save texts');
  await isSaved(page);

  const after = await app.as(ROOT).apps.get({ app_id: SALES });
  assert.equal(
    [after.label, after.help_html, after.show_help],
    ['Sales of Acme', '<p>Ask Root.</p>', show_help],
  );
});

conflicts(
  'going back from a conflict keeps what was typed, until it is discarded',
  async ({ app, browser }) => {
    await using visit = await browser.open(REFUSAL);
    const { page } = visit;
    await openConsole(page, '/console/clients/1');
    await page.getByRole('tab', { name: 'Passwords' }).click();
    const length = page.getByLabel('Minimum length');
    await length.fill('10');
    await app.as(ROOT).clients.update({ id: 1, password_min_length: 14 });
    await save(page);
    await versionsOf(page, 'Minimum length').waitFor();
    await page.getByRole('button', { name: 'Back to the form' }).click();

    assert.is(await length.inputValue(), '10');
    assert.is((await app.as(ROOT).clients.get({ id: 1 })).password_min_length, 14);
    await page.getByRole('button', { name: 'Discard' }).click();
    assert.is(await length.inputValue(), '14');
    await length.fill('10');
    await save(page);
    await isSaved(page);
    assert.is((await app.as(ROOT).clients.get({ id: 1 })).password_min_length, 10);
  },
);

conflicts('apps that someone else has granted since are not revoked', async ({ app, browser }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES] });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/people/${GRACE}`);
  const change = page.getByRole('button', { name: 'Change Sales' });
  await change.waitFor();
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, CHURN] });
  await change.click();
  await page.getByRole('menuitem', { name: 'End access' }).click();
  await page.getByRole('button', { name: 'Change Churn' }).waitFor();

  // The screen may hear of the other's grant before the end of the access.
  await eventually(async () => assert.equal((await app.as(ROOT).users.get({ email: GRACE })).apps, [CHURN]));
});

conflicts('a change by the same user in another tab is their own', async ({ app, browser }) => {
  await using visit = await browser.open(REFUSAL);
  const { page } = visit;
  await openConsole(page, `/console/people/${GRACE}?tab=profile`);
  await page.getByLabel('Last name').fill('Murray Hopper');
  await app.as(ACME).users.update({ email: GRACE, first_name: 'Gracie', last_name: 'Other' });
  await save(page);
  await page.getByRole('dialog', { name: TITLE }).getByText('Last changed by you').waitFor();
  await versionsOf(page, 'Last name').getByLabel('Yours').check();
  await page.getByRole('button', { name: 'Save my choice' }).click();
  await isSaved(page);

  const { first_name, last_name } = await app.as(ROOT).users.get({ email: GRACE });
  assert.equal([first_name, last_name], ['Gracie', 'Murray Hopper']);
});

conflicts('a login or the same change by someone else needs no choice', async ({ app, browser }) => {
  await using visit = await browser.open(REFUSAL);
  const { page } = visit;
  await openConsole(page, `/console/people/${ADA}?tab=profile`);
  await page.getByLabel('First name').fill('Augusta');
  await app.send('POST /session/', { payload: { username: ADA, password: DEMO_PASSWORD } });
  await app.as(ROOT).users.update({ email: ADA, first_name: 'Augusta' });
  await page.getByLabel('Last name').fill('King');
  await save(page);
  await isSaved(page);

  const { first_name, last_name } = await app.as(ROOT).users.get({ email: ADA });
  assert.equal([first_name, last_name], ['Augusta', 'King']);
});

conflicts(
  'what was typed is still there after the session has ended and the user has logged in',
  async ({ app, browser }) => {
    await using visit = await browser.open(REFUSAL);
    const { page } = visit;
    const untilQuiet = watchCalls(page);
    await openConsole(page, `/console/people/${ADA}?tab=profile`);
    await page.getByLabel('First name').fill('Countess');
    // A query that is under way would lead to the login page before the click.
    await untilQuiet();
    await app.db().deleteFrom('sessions').execute();
    await save(page);
    await page.waitForURL('**/login/?next=*');
    await fillLogin(page, ACME, DEMO_PASSWORD);
    await page.getByText('Your changes are still here.').waitFor();
    assert.match(page.url(), `/console/people/${ADA}?tab=profile`);
    assert.is(await page.getByLabel('First name').inputValue(), 'Countess');
    await save(page);
    await isSaved(page);

    assert.is((await app.as(ROOT).users.get({ email: ADA })).first_name, 'Countess');
    await page.reload();
    await waitForHeading(page, 'Countess King');
    assert.is(await page.getByText('Your changes are still here.').count(), 0);
  },
);

conflicts('a logout in another tab keeps what was typed, and the login page says why', async (context) => {
  await using visit = await context.browser.open(REFUSAL);
  const { page } = visit;
  await openConsole(page, '/console/people');
  const other = await page.context().newPage();
  await other.goto(`/console/people/${encodeURIComponent(ADA)}?tab=profile`);
  await other.getByLabel('Last name').fill('Byron');
  await page.getByRole('button', { name: `Account of ${ACME}` }).click();
  await page.getByRole('menuitem', { name: 'Log out' }).click();
  await page.waitForURL('**/login/');
  // The tab may hear of the logout before the click.
  const left = other.waitForURL('**/login/?next=*');
  await Promise.race([left, save(other).catch(() => left)]);
  await other.getByText('Your session has ended.').waitFor();
  await fillLogin(other, ACME, DEMO_PASSWORD);
  await other.getByText('Your changes are still here.').waitFor();

  assert.is(await other.getByLabel('Last name').inputValue(), 'Byron');
});

conflicts.run();
