import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { addAddresses, chooseClient, openConsole } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ADA, ROOT } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const unsaved = browserSuite('unsaved work in the console');

const question = (page: Page) => page.getByRole('dialog', { name: 'Leave without saving?' });

const answer = async (page: Page, name: 'Stay' | 'Leave without saving'): Promise<void> => {
  await question(page).getByRole('button', { name, exact: true }).click();
  await question(page).waitFor({ state: 'detached' });
};

const openHome = (page: Page) => page.getByRole('link', { name: 'Home', exact: true }).click();

const isHome = (page: Page) => page.getByRole('heading', { level: 1, name: 'Hello' }).waitFor();

/** The screens that hold unsaved work, and how a user enters some. */
const SCREENS: Record<string, { path: string; edit: (page: Page) => Promise<unknown> }> = {
  'the list of people to invite': {
    path: '/console/invite',
    edit: (page) => addAddresses(page, 'a@unsaved.test, b@unsaved.test'),
  },
  'addresses that are not in the list yet': {
    path: '/console/invite',
    edit: (page) => page.getByLabel('Email addresses').fill('c@unsaved.test'),
  },
  'changes in Access': {
    path: '/console/access',
    edit: (page) => page.getByRole('checkbox', { name: `Churn for ${ADA}` }).click(),
  },
  'a name of a person': {
    path: `/console/people/${ADA}?tab=profile`,
    edit: (page) => page.getByLabel('First name').fill('Unsaved'),
  },
  'texts of a client': {
    path: '/console/clients/1',
    edit: (page) => page.getByLabel('Title of the login page').fill('Unsaved'),
  },
  'texts of an app': {
    path: `/console/apps/${SALES}?tab=texts`,
    edit: (page) => page.getByLabel('Name', { exact: true }).fill('Unsaved'),
  },
};

for (const [work, { path, edit }] of Object.entries(SCREENS))
  unsaved(`${work}: the user is asked before they are lost`, async ({ browser }) => {
    await using visit = await browser.open();
    const { page } = visit;
    await openConsole(page, path);
    await edit(page);
    await openHome(page);
    await answer(page, 'Stay');
    assert.is(new URL(page.url()).pathname, new URL(path, page.url()).pathname);
    await openHome(page);
    await answer(page, 'Leave without saving');

    await isHome(page);
  });

testAppearance(unsaved, {
  'console-unsaved': async (page) => {
    await openConsole(page, `/console/people/${ADA}?tab=profile`);
    await page.getByLabel('First name').fill('Unsaved');
    await openHome(page);
    await question(page).waitFor();
  },
});

unsaved('Back asks too, and keeps the list if the user stays', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  await page.getByRole('link', { name: 'Invite', exact: true }).click();
  await addAddresses(page, 'a@unsaved.test, b@unsaved.test');
  await page.goBack();
  await answer(page, 'Stay');
  await waitForHeading(page, 'Invite people');
  await page.getByRole('heading', { name: '2 people' }).waitFor();
  await page.goBack();
  await answer(page, 'Leave without saving');

  await isHome(page);
});

unsaved('a reload of the tab asks first', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/invite');
  await addAddresses(page, 'a@unsaved.test');
  const asked = new Promise<string>((resolve) => {
    page.once('dialog', (dialog) => {
      resolve(dialog.type());
      void dialog.accept();
    });
  });
  await page.reload();

  assert.is(await asked, 'beforeunload');
});

unsaved('a switch to another client asks first, and drops the changes', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/access', ROOT);
  await page.getByRole('checkbox', { name: `Churn for ${ADA}` }).click();
  await page.getByRole('searchbox', { name: 'Search people' }).fill('ada');
  await page.waitForURL('**search=ada');
  await page.getByText('1 change').waitFor();
  await chooseClient(page, 'Globex Data');
  await answer(page, 'Leave without saving');
  await page.waitForURL('**client=2*');

  assert.is(await page.getByText('1 change').count(), 0);
});

unsaved('a tab of a client keeps what was typed in another one', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/clients/1');
  await page.getByLabel('Title of the login page').fill('Unsaved');
  await page.getByRole('tab', { name: 'Passwords' }).click();
  await page.getByLabel('Minimum length').waitFor();
  await openHome(page);
  await answer(page, 'Stay');
  await page.getByRole('tab', { name: 'General' }).click();

  assert.is(await page.getByLabel('Title of the login page').inputValue(), 'Unsaved');
});

unsaved('a navigation asks nothing after changes were saved or discarded', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/people/${ADA}?tab=profile`);
  await page.getByLabel('First name').fill('Augusta');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByLabel('Last name').fill('King');
  await page.getByRole('button', { name: 'Discard' }).first().click();
  await openHome(page);

  await isHome(page);
});

unsaved.run();
