import type { Locator, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { CHURN, SALES } from '../support/usage.ts';
import { addUsers } from '../support/users.ts';

const access = browserSuite('access matrix in the console');

const boxOf = (page: Page, name: string) => page.getByRole('checkbox', { name });
const openMatrix = async (page: Page): Promise<void> => {
  await openConsole(page, '/console/access');
  await waitForHeading(page, 'Access');
  await boxOf(page, `Churn for ${GRACE}`).waitFor();
};
/** The button that sets a row or a column. */
const allFor = (page: Page, name: RegExp) => page.getByRole('button', { name });
const waitForFocus = (control: Locator) => control.and(control.page().locator(':focus')).waitFor();
const discard = (page: Page) => page.getByRole('button', { name: 'Discard' }).click();
const grantsOf = async (app: TestApp) => {
  const { apps, users } = await app.as(ACME).access.matrix({ id: 1 });
  const label = new Map(apps.map((one) => [one.id, one.label]));
  return users.flatMap(({ email, apps: ids }) => ids.map((id) => `${label.get(id)} for ${email}`)).toSorted();
};

/** The last person in the matrix, with an app that ends and another by a group, which goes on when its grant ends. */
const ZOE = 'zoe@acme.test';

access.before(async ({ app }) => {
  await app.as(ACME).users.create({ email: ZOE, first_name: 'Zoe', last_name: 'Zett', client: 1 });
  const expires_at = new Date('2031-03-31T12:00:00Z');
  await app.as(ACME).grants.create({ app_id: SALES, email: ZOE, expires_at });
  await app.as(ACME).grants.create({ app_id: CHURN, email: ZOE, expires_at });
  await app.as(ACME).groups.create({ id: 1, name: 'Forecast', members: [ZOE], apps: [CHURN] });
});

access('a cell shows its end and says why, and what a group gives stays', async ({ app, page }) => {
  await openMatrix(page);
  await page.getByRole('img', { name: 'Member of Forecast' }).waitFor();
  await boxOf(page, `Sales for ${ZOE}`).focus();
  await assertLooksGood(page, 'console-access');
  const rowOf = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name }) });
  assert.is(await rowOf('Ida Idle').getByText('Suspended').count(), 1);
  assert.is(await rowOf('Ada Lovelace').getByText('Suspended').count(), 0);
  const row = rowOf('Zoe Zett');
  await row.getByText('to 31 Mar 2031').waitFor();
  const churn = boxOf(page, `Churn for ${ZOE}`);
  await churn.click();
  await allFor(page, /all apps for zoe@/).click();
  await page.getByText(/^1 change:/).waitFor();
  assert.ok(await churn.isChecked());
  await discard(page);

  const dialog = page.getByRole('dialog');
  await churn.focus();
  await page.keyboard.press('?');
  await dialog.getByText('Through the group Forecast').waitFor();
  await page.keyboard.press('Escape');
  await row.hover();
  await boxOf(page, `Sales for ${ZOE}`).hover();
  await page.getByRole('button', { name: `Why? Sales for ${ZOE}` }).click();
  await dialog.getByText('Granted directly').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Groups: 1 of 1' }).click();
  await page.getByRole('checkbox', { name: 'Forecast' }).uncheck();
  await page.getByRole('img', { name: 'Member of Forecast' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Apps: (\d) of \1$/ }).click();
  await page.getByRole('checkbox', { name: 'Churn', exact: true }).uncheck();
  await allFor(page, /Churn for all people/).waitFor({ state: 'detached' });
  assert.ok(await allFor(page, /Sales for all people/).isVisible());
  assert.equal((await app.as(ACME).users.get({ email: ZOE })).apps, [SALES, CHURN]);
});

access('one save changes several cells, and undo restores them', async ({ app, page }) => {
  const before = await grantsOf(app);
  const [churn, sales] = [boxOf(page, `Churn for ${GRACE}`), boxOf(page, `Sales for ${ADA}`)];
  await openMatrix(page);
  await churn.click();
  await sales.click();
  await page.getByText('2 changes: 1 granted, 1 revoked').waitFor();
  assert.is(await page.getByRole('checkbox', { name: 'not saved' }).count(), 2);
  assert.equal(await grantsOf(app), before, 'nothing is saved yet');
  await page.getByRole('button', { name: 'Show only changes' }).click();
  const rows = page.getByRole('row').filter({ has: page.getByRole('checkbox', { name: /^Churn for .*@/ }) });
  await until('only the changed people are shown', async () => (await rows.count()) === 2);
  await page.getByRole('button', { name: 'Show everything' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved 2.').waitFor();
  const changed = await grantsOf(app);
  assert.ok(changed.includes(`Churn for ${GRACE}`));
  assert.not.ok(changed.includes(`Sales for ${ADA}`));
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Saved 2.').waitFor({ state: 'detached' });
  assert.equal(await grantsOf(app), before);
  assert.ok(await sales.isChecked());
});

access('a heading sets all people, also those who were not loaded yet', async ({ app, page }) => {
  await addUsers(app, 1_100);
  await app.db().deleteFrom('app_grants').where('app_id', '=', CHURN).execute();
  await openMatrix(page);
  const cells = page.getByRole('checkbox', { name: /^Churn for .*@/, disabled: false });
  await allFor(page, /Grant Churn for all people/).click();
  await page.getByText(/^1,10\d changes: 1,10\d granted$/).waitFor();
  for (const cell of (await cells.all()).slice(0, 5)) assert.ok(await cell.isChecked());
  await discard(page);
  assert.not.ok(await boxOf(page, `Churn for ${GRACE}`).isChecked());
  await allFor(page, /Grant Churn for all people/).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^Saved 1,10\d\.$/).waitFor();
  const grants = app.db().selectFrom('app_grants').where('app_id', '=', CHURN).select('user_id');
  assert.ok((await grants.execute()).length > 1_100);
  await app.db().deleteFrom('users').where('email', 'like', '%@many.test').execute();
});

access('keys, and clicks with Shift, change cells and ranges of them', async ({ page }) => {
  await openMatrix(page);
  const cellAt = (row: number, column: number) =>
    page.locator('tbody tr').nth(row).getByRole('checkbox').nth(column);
  const end = cellAt(2, 1);
  const was = await end.isChecked();
  await cellAt(1, 0).focus();
  await page.keyboard.press('ArrowUp'); // over the row of the admin, which stays locked, to the heading
  await waitForFocus(allFor(page, /for all people/).first());
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'Space']) await page.keyboard.press(key);
  await page.getByText(/^1 change:/).waitFor();
  assert.is(await end.isChecked(), !was);
  await discard(page);

  const column = [cellAt(1, 1), cellAt(2, 1), cellAt(3, 1)] as const;
  const granted = !(await column[0].isChecked());
  await column[0].click();
  await column[2].click({ modifiers: ['Shift'] });
  for (const cell of column) assert.is(await cell.isChecked(), granted);
  await discard(page);

  const square = [cellAt(1, 0), cellAt(1, 1), cellAt(2, 0), cellAt(2, 1)] as const;
  const isGranted = !(await square[0].isChecked());
  await square[0].focus();
  for (const key of ['Space', 'ArrowDown', 'ArrowRight', 'Shift+Space']) await page.keyboard.press(key);
  for (const cell of square) assert.is(await cell.isChecked(), isGranted);
  await discard(page);
});

access('the focus stays on a cell that is saved, and scrolled out of sight', async ({ app, page }) => {
  await addUsers(app, 100);
  await openMatrix(page);
  const cell = boxOf(page, `Churn for ${GRACE}`);
  await cell.focus();
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved 1.').waitFor();
  await waitForFocus(cell);
  await page.evaluate('document.querySelector(\'section[aria-label="Access, scrollable"]\').scrollTop = 1e6');
  await page.getByRole('link', { name: 'Zoe Zett' }).waitFor();
  await waitForFocus(cell);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Saved 1.').waitFor({ state: 'detached' });
  await waitForFocus(cell);
  await app.db().deleteFrom('users').where('email', 'like', '%@many.test').execute();
});

access.run();
