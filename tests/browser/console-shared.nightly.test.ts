import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, logIn, waitForHeading } from '../support/browser.ts';
import { goTo, openConsole, waitForData } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE } from '../support/test-app.ts';

const shared = browserSuite('what the screens of the console share');

const REFUSED = /responded with a status of 4/;
const INVALID = '/console/people?client=0';

shared('the name of the service is shown before any script has arrived', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await logIn(page, ACME);
  await page.route('**/assets/*.js', () => {});
  await page.goto('/console/', { waitUntil: 'commit' });

  await page.getByText('Steward', { exact: true }).waitFor();
});

/** Lists with a filter that nothing matches, and what they say then. */
const EMPTY_LISTS: [path: string, advice: string][] = [
  ['/console/people?search=nowhere', 'Change the filter, or invite someone.'],
  ['/console/audit?target=nowhere', 'Remove a part of the filter.'],
  ['/console/access?search=nowhere', 'Change the search, or invite someone.'],
  ['/console/apps?search=nowhere', 'Change the search or the filter.'],
  ['/console/idle?kind=apps', 'All apps are in use.'],
];

shared('a list is a skeleton while it loads, and says what to do if it is empty', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  const held: (() => Promise<void>)[] = [];
  let isHolding = false;
  await page.route('**/trpc/**', (route) =>
    isHolding ? held.push(() => route.continue()) : route.continue(),
  );
  await openConsole(page, '/console/account');
  await waitForHeading(page, 'Account');
  await waitForData(page);
  for (const [path, advice] of EMPTY_LISTS) {
    isHolding = true;
    await page.evaluate(`history.pushState({}, '', '${path}')`);
    await page.locator('main .mantine-Skeleton-root[data-visible]').first().waitFor();
    assert.is(await page.locator('.mantine-Loader-root').count(), 0, path);
    isHolding = false;
    await Promise.all(held.splice(0).map((release) => release()));

    await page.getByText(advice).waitFor();
  }
});

shared('an error has the ID of its request, to copy', async ({ browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const refused = page.waitForResponse(/users\.people/);
  await openConsole(page, INVALID);
  const id = (await (await refused).allHeaders())['x-request-id'] ?? 'none';
  await page.getByRole('alert').getByText(`Request ${id}`).waitFor();
  await page.getByRole('button', { name: 'Copy the ID of the request' }).click();

  assert.is(await page.evaluate('navigator.clipboard.readText()'), id);
  await openConsole(page, '/console/people', ADA);
  await page.getByRole('alert').getByText('This screen is for').waitFor();
  await assertLooksGood(page, 'console-refused');
});

/** Moves the focus forward until it is on the control. */
const tabTo = async (page: Page, name: string): Promise<void> => {
  const focused = page
    .locator(':focus')
    .and(page.getByLabel(name).or(page.getByRole('button', { name })).or(page.getByRole('tab', { name })));
  for (let steps = 0; (await focused.count()) === 0; steps += 1) {
    assert.ok(steps < 80, `Tab does not reach ${name}`);
    await page.keyboard.press('Tab');
  }
};

shared('a person is found, changed and saved with the keyboard alone', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: 'Find people' }).waitFor();
  await page.keyboard.type('gra');
  await page.getByRole('option', { name: 'Grace Hopper' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await waitForHeading(page, 'Grace Hopper');
  await page.locator('h1:focus').waitFor();
  await tabTo(page, 'Access');
  await page.keyboard.press('ArrowRight');
  await tabTo(page, 'First name');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('Amazing');
  await tabTo(page, 'Save');
  await page.keyboard.press('Enter');
  await page.getByText('Saved.').waitFor();

  assert.is((await app.as(ACME).users.get({ email: GRACE })).first_name, 'Amazing');
});

/** Screens, and what opens a dialog there: a button, or an item of a button's menu. */
const OPENERS: [path: string, opener: string, item?: string][] = [
  [`/console/people/${ADA}`, 'Grant an app'],
  [`/console/people/${ADA}`, 'Change Sales', 'Change the end…'],
  [`/console/people/${ADA}`, 'Why? Sales'],
  ['/console/groups', 'New group'],
];

shared('the focus returns to what opened a dialog', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  for (const [path, name, item] of OPENERS) {
    if (new URL(page.url()).pathname !== path) await goTo(page, path);
    const opener = page.getByRole('button', { name, exact: true });
    await opener.focus();
    await page.keyboard.press('Enter');
    if (item !== undefined) {
      await page.getByRole('menuitem', { name: item }).focus();
      await page.keyboard.press('Enter');
    }
    const dialog = page.getByRole('dialog');
    await dialog.locator(':focus').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    await opener.and(page.locator(':focus')).waitFor();
  }
});

shared.run();
