import type { Locator, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, fillLogin, REFUSED, waitForHeading } from '../support/browser.ts';
import {
  chooseClient,
  goTo,
  hearNothing,
  listAddresses,
  openConsole,
  typeAddresses,
} from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, GRACE, ROOT } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const editing = browserSuite('conflicts and unsaved work in the console', REFUSED);

const save = (page: Page, name = 'Save'): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click();
const isSaved = (page: Page): Promise<void> => page.getByText('Saved.').waitFor();

const conflictIn = (page: Page) => page.getByRole('dialog', { name: 'This was changed since you opened it' });
/** The versions of a field, in the dialog. */
const versionsOf = (page: Page, label: string): Locator =>
  conflictIn(page).getByRole('radiogroup', { name: label });

const question = (page: Page) => page.getByRole('dialog', { name: 'Leave without saving?' });
const answer = async (page: Page, name: 'Stay' | 'Leave without saving'): Promise<void> => {
  await question(page).getByRole('button', { name, exact: true }).click();
  await question(page).waitFor({ state: 'detached' });
};
const openHome = (page: Page) => page.getByRole('link', { name: 'Home', exact: true }).click();
const isHome = (page: Page) => page.getByRole('heading', { level: 1, name: 'Hello' }).waitFor();

editing('the second of two admins who rename a person chooses between both names', async ({ app, page }) => {
  const namesOf = async (): Promise<string[]> => {
    const { first_name, last_name } = await app.as(ROOT).users.get({ email: GRACE });
    return [first_name, last_name];
  };
  await hearNothing(page);
  await openConsole(page, `/console/people/${GRACE}?tab=profile`);
  await page.getByLabel('First name').fill('Mine');
  await page.getByLabel('Last name').fill('Murray');
  await app.as(ROOT).users.update({ email: GRACE, first_name: 'Theirs' });
  await save(page);
  const versions = versionsOf(page, 'First name');
  await versions.waitFor();
  await assertLooksGood(page, 'console-conflict');
  assert.match(
    await versions.innerText(),
    /When you opened it\s+Grace\s+Now on the server\s+Theirs\s+Yours\s+Mine/,
  );
  await conflictIn(page).getByText(`Last changed by ${ROOT}`).waitFor();
  const choices = await conflictIn(page).getByRole('radiogroup').count();
  assert.is(choices, 1, 'fields that only one of them changed need no choice');
  const choose = page.getByRole('button', { name: 'Save my choice' });
  assert.ok(await choose.isDisabled());
  assert.equal(await namesOf(), ['Theirs', 'Hopper']);
  await versions.getByLabel('Yours').check();
  await choose.click();
  await isSaved(page);
  await waitForHeading(page, 'Mine Murray');
  assert.equal(await namesOf(), ['Mine', 'Murray']);

  await page.getByLabel('Last name').fill('Murray Hopper');
  await app.as(ACME).users.update({ email: GRACE, first_name: 'Grace', last_name: 'Other' });
  await save(page);
  await conflictIn(page).getByText('Last changed by you').waitFor();
  await page.keyboard.press('Escape');
});

editing('changes of different fields are merged', async ({ app, page }) => {
  await hearNothing(page);
  await openConsole(page, `/console/people/${GRACE}?tab=profile`);
  await page.getByLabel('First name').fill('Amazing');
  await app.as(ROOT).users.update({ email: GRACE, last_name: 'Hopper' });
  await save(page);
  await waitForHeading(page, 'Amazing Hopper');
  const { first_name, last_name } = await app.as(ROOT).users.get({ email: GRACE });
  assert.equal([first_name, last_name], ['Amazing', 'Hopper']);
});

editing('what was typed is kept when the session ends before it is saved', async ({ app, page }) => {
  await page.route('**/trpc/users.update*', async (route) => {
    await app.db().deleteFrom('sessions').execute();
    await route.continue();
  });
  await openConsole(page, `/console/people/${ADA}?tab=profile`);
  await page.getByLabel('First name').fill('Countess');
  await save(page);
  await page.waitForURL('**/login/?next=*');
  await page.unrouteAll();
  await fillLogin(page, ACME, DEMO_PASSWORD);
  await page.getByText('Your changes are still here.').waitFor();
  assert.match(page.url(), `/console/people/${ADA}?tab=profile`);
  assert.is(await page.getByLabel('First name').inputValue(), 'Countess');
  await save(page);
  await isSaved(page);
  assert.is((await app.as(ROOT).users.get({ email: ADA })).first_name, 'Countess');
  await page.reload();
  await waitForHeading(page, 'Countess Lovelace');
  assert.is(await page.getByText('Your changes are still here.').count(), 0);
});

/** The screens that hold unsaved work, and how a user enters some. */
const UNSAVED: [path: string, edit: (page: Page) => Promise<unknown>][] = [
  ['/console/invite', (page) => listAddresses(page, 'a@unsaved.test, b@unsaved.test')],
  ['/console/invite', (page) => page.getByLabel('Email addresses').fill('c@unsaved.test')],
  ['/console/access', (page) => page.getByRole('checkbox', { name: `Churn for ${ADA}` }).click()],
  [`/console/people/${ADA}?tab=profile`, (page) => page.getByLabel('First name').fill('Unsaved')],
  ['/console/clients/1?tab=texts', (page) => page.getByLabel('Title of the login page').fill('Unsaved')],
  [`/console/apps/${SALES}?tab=settings`, (page) => page.getByLabel('Name', { exact: true }).fill('Unsaved')],
];

editing('on each screen, the user is asked before unsaved work is lost', async ({ page }) => {
  await openConsole(page, '/console/');
  await isHome(page);
  for (const [path, edit] of UNSAVED) {
    await goTo(page, path);
    await edit(page);
    await openHome(page);
    await answer(page, 'Stay');
    assert.is(new URL(page.url()).pathname, new URL(path, page.url()).pathname);
    await openHome(page);
    await answer(page, 'Leave without saving');
    await isHome(page);
  }
});

editing('Back, a reload and a switch to another client ask, too', async ({ page }) => {
  await openConsole(page, '/console/', ROOT);
  await page.getByRole('link', { name: 'Access', exact: true }).click();
  const clients = page.getByRole('region', { name: 'Which client?' });
  await clients.getByRole('option', { name: 'Acme Analytics' }).click();
  await page.getByRole('checkbox', { name: `Churn for ${ADA}` }).click();
  await page.getByText('1 change').waitFor();
  await page.goBack();
  await assertLooksGood(page, 'console-unsaved');
  await answer(page, 'Stay');
  await waitForHeading(page, 'Access');
  await chooseClient(page, 'Globex Data');
  await answer(page, 'Leave without saving');
  await page.waitForURL('**client=2*');
  assert.is(await page.getByText('1 change').count(), 0);

  await goTo(page, '/console/invite');
  await typeAddresses(page, 'a@unsaved.test');
  const asked = page.waitForEvent('dialog');
  const reload = page.reload();
  const dialog = await asked;
  assert.is(dialog.type(), 'beforeunload');
  await dialog.accept();
  await reload;
});

editing.run();
