import * as assert from 'uvu/assert';
import { browserSuite, LOST, REFUSED, waitForHeading } from '../support/browser.ts';
import { openConsole, waitForData } from '../support/console.ts';
import { tabTo } from '../support/keyboard.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE } from '../support/test-app.ts';

const expected = new RegExp(`${REFUSED.source}|${LOST.source}`);
const shared = browserSuite('what the screens of the console share', expected);

const INVALID = '/console/people?client=0';

shared('an error has the ID of its request, to copy', async ({ page }) => {
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

shared('a person is found, changed and saved with the keyboard alone', async ({ app, page }) => {
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: 'Find people' }).waitFor();
  await page.keyboard.type('gra');
  await page.getByRole('option', { name: 'Grace Hopper' }).waitFor();
  // To the second result, and back to the best one.
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
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

shared(
  'without a connection, the console says so at once, and saves after it is back',
  async ({ app, page }) => {
    await openConsole(page, `/console/people/${ADA}?tab=profile`);
    await waitForHeading(page, 'Ada Lovelace');
    await waitForData(page);
    await page.context().setOffline(true);
    const banner = page.getByRole('status').filter({ hasText: 'You are offline' });
    await banner.waitFor();
    await page.getByRole('tab', { name: 'Activity' }).click();
    await page.getByRole('region', { name: 'Actions in Steward' }).getByRole('alert').waitFor();
    await page.getByRole('tab', { name: 'Profile' }).click();
    await page.getByLabel('First name').fill('Offline');
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await save.click();
    await page
      .getByRole('alert')
      .getByText('The service cannot be reached. Check your connection.')
      .waitFor();
    await assertLooksGood(page, 'console-offline');

    await page.context().setOffline(false);
    await banner.waitFor({ state: 'detached' });
    await save.click();
    await page.getByText('Saved.').waitFor();
    assert.is((await app.as(ACME).users.get({ email: ADA })).first_name, 'Offline');
  },
);

shared.run();
