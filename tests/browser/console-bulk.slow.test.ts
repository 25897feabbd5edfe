import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { chooseFilter, loseResponses, openConsole } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN } from '../support/usage.ts';

const bulk = browserSuite('changes of many people in the console');

const openPeople = async (page: Page, email: string, filter = ''): Promise<void> => {
  await openConsole(page, `/console/people${filter}`, email);
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
};
const barOf = (page: Page) => page.getByRole('region', { name: 'Selected people' });
const choose = async (page: Page, action: string): Promise<void> => {
  const bar = barOf(page);
  const button = bar.getByRole('button', { name: action });
  if ((await button.count()) > 0) return button.click();
  await bar.getByRole('button', { name: 'Further actions' }).click();
  await page.getByRole('menuitem', { name: action }).click();
};
const usersOf = async (app: TestApp) => app.as(ACME).users.list({ app: 'sales' });

testAppearance(bulk, {
  'console-bulk': async (page) => {
    await openPeople(page, ACME);
    await page.getByRole('checkbox', { name: 'Select all who match' }).check();
    await page.getByText('4 selected', { exact: true }).waitFor();
  },
});

bulk('an admin grants an app to everyone who matches, and undoes it', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  const before = await usersOf(app);
  await openPeople(page, ACME);
  await page.getByRole('checkbox', { name: 'Select all who match' }).check();
  await choose(page, 'Grant apps');
  await page.getByRole('checkbox', { name: 'Sales' }).check();
  await page.getByRole('dialog').getByRole('button', { name: 'Grant apps' }).click();
  await page.getByText(/^Granted Sales: \d+ changed/).waitFor();
  assert.ok((await usersOf(app)).length > before.length);

  await page.setViewportSize({ width: 1280, height: 360 });
  const result = await page.getByRole('status').filter({ hasText: 'Granted Sales' }).boundingBox();
  const button = await page.getByRole('button', { name: 'Undo' }).boundingBox();
  assert.ok(result && button && button.y + button.height <= result.y + result.height, 'also in a low window');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(/^Undone: \d+ changes?\./).waitFor();
  assert.equal(await usersOf(app), before);
});

bulk('an admin gives a team an app for two weeks', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPeople(page, ACME);
  for (const email of [ADA, 'grace@acme.test'])
    await page.getByRole('checkbox', { name: `Select ${email}` }).check();
  await choose(page, 'Grant apps');
  const dialog = page.getByRole('dialog', { name: 'Grant apps: 2 people' });
  await dialog.getByRole('checkbox', { name: 'Churn' }).check();
  await dialog.getByRole('combobox', { name: 'Until' }).click();
  await page.getByRole('option', { name: 'In 2 weeks' }).click();
  await dialog.getByRole('button', { name: 'Grant apps' }).click();
  await page.getByText(/^Granted Churn until \d+ \w+ \d{4}: \d changed/).waitFor();

  const endOf = async (email: string) =>
    (await app.as(ACME).grants.list({ app_id: CHURN })).find((grant) => grant.email === email)?.expires_at;
  const expires_at = await endOf('grace@acme.test');
  assert.ok(expires_at && expires_at.getTime() - Date.now() < 15.1 * DAY_MS);
  assert.is(await endOf(ADA), null);
  await page.getByText(`${ADA}: has it already`).waitFor();
  await page.getByRole('button', { name: /^Let theirs end on \d+ \w+, too$/ }).click();
  await page.getByText(/^1 now ends on \d+ \w+ \d{4}, too\.$/).waitFor();
  assert.equal(await endOf(ADA), expires_at);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(/^Undone: \d changes?\./).waitFor();
});

bulk('an admin adds selected people to a group, and undoes it', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Forecasters', members: [], apps: [CHURN] });
  const members = async () => (await app.as(ACME).groups.get({ id: 1, group_id: id })).members;
  await openPeople(page, ACME);
  for (const email of [ADA, 'grace@acme.test'])
    await page.getByRole('checkbox', { name: `Select ${email}` }).check();
  await choose(page, 'Add to groups');
  const dialog = page.getByRole('dialog', { name: 'Add to groups: 2 people' });
  await dialog.getByRole('combobox', { name: 'Groups' }).click();
  await page.getByRole('option', { name: 'Forecasters' }).click();
  await page.keyboard.press('Escape');
  await dialog.getByRole('button', { name: 'Add to groups' }).click();
  await page.getByText('Added to groups: 2 changed').waitFor();
  assert.equal(await members(), [ADA, 'grace@acme.test']);

  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: 2 changes.').waitFor();
  assert.equal(await members(), []);
});

bulk('a change is undone on another screen, or from its entry in the audit trail', async (context) => {
  const { app, browser } = context;
  await using visit = await browser.open();
  const { page } = visit;
  // Ahead by more than the ten minutes of the undo, which ends by the clock of the service.
  await page.clock.setSystemTime(app.clock.now().getTime() + 20 * MINUTE_MS);
  const isActive = async () => (await app.as(ACME).users.get({ email: 'grace@acme.test' })).is_active;
  const deactivate = async (): Promise<void> => {
    await page.getByRole('checkbox', { name: 'Select grace@acme.test' }).check();
    await choose(page, 'Deactivate');
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
    await page.getByText('Deactivated: 1 changed').waitFor();
    assert.is(await isActive(), false);
  };
  await openPeople(page, ACME);
  await deactivate();
  await page.getByRole('link', { name: 'Apps', exact: true }).click();
  await waitForHeading(page, 'Apps');
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: 1 change.').waitFor();
  assert.ok(await isActive());

  await openPeople(page, ACME);
  await deactivate();
  await page.goto('/console/audit?target=grace@acme.test');
  await page.getByRole('button', { name: 'Details of: Deactivated' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: 1 change.').waitFor();
  assert.ok(await isActive());
});

bulk('an undo that is under way is not offered again on another screen', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  const undo = Promise.withResolvers<void>();
  await page.route(/operations\.undo/, async (route) => {
    await undo.promise;
    await route.continue();
  });
  await openPeople(page, ACME);
  await page.getByRole('checkbox', { name: 'Select grace@acme.test' }).check();
  await choose(page, 'Deactivate');
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('link', { name: 'Apps', exact: true }).click();
  await waitForHeading(page, 'Apps');
  await page.getByRole('link', { name: 'Sales', exact: true }).waitFor();
  assert.is(await page.getByRole('button', { name: 'Undo' }).count(), 0);
  const done = page.waitForResponse(/operations\.undo/);
  undo.resolve();
  await done;

  assert.ok((await app.as(ACME).users.get({ email: 'grace@acme.test' })).is_active);
});

bulk('a range is selected with Shift, and one of all who match is taken out', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPeople(page, ACME);
  const boxes = page.getByRole('checkbox', { name: /^Select .*@/ });
  await boxes.first().click();
  await boxes.nth(2).click({ modifiers: ['Shift'] });
  await page.getByText('3 selected', { exact: true }).waitFor();
  assert.ok(await boxes.nth(1).isChecked());
  await page.getByRole('checkbox', { name: 'Select all who match' }).click();
  await page.getByText('4 selected', { exact: true }).waitFor();
  await boxes.last().click();

  await page.getByText('3 selected', { exact: true }).waitFor();
});

bulk('refusals are listed by person, and the others are changed', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPeople(page, ACME);
  for (const email of [ACME, 'grace@acme.test'])
    await page.getByRole('checkbox', { name: `Select ${email}` }).check();
  await choose(page, 'Deactivate');
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
  await page.getByText('Deactivated: 1 changed, 1 refused').waitFor();

  await page.getByText(`${ACME}: `).waitFor();
  assert.is((await app.as(ACME).users.get({ email: 'grace@acme.test' })).is_active, false);
  assert.is((await app.as(ACME).users.get({ email: ACME })).is_active, true);
});

bulk('a repeat after a lost response sends no second mail', async ({ app, browser }) => {
  await using visit = await browser.open(/Failed to load resource|net::/);
  const { page } = visit;
  await openPeople(page, ACME);
  const sendLink = async (): Promise<void> => {
    await choose(page, 'Send a password link');
    await page.getByRole('dialog').getByRole('button', { name: 'Send a password link' }).click();
  };
  await page.getByRole('checkbox', { name: `Select ${ADA}` }).check();
  const restore = await loseResponses(page, app, 'users.bulkUpdate');
  await sendLink();
  await page.getByText('The service cannot be reached. Check your connection.').waitFor();
  await restore();
  await sendLink();
  await page.getByText('Sent password links: 1 changed').waitFor();

  assert.is((await app.as(ROOT).mail.list({ recipient: ADA })).length, 1);
});

bulk('the same change, minutes after a lost response, is a new one', async ({ app, browser }) => {
  await using visit = await browser.open(/Failed to load resource|net::/);
  const { page } = visit;
  const person = { email: ADA };
  await page.clock.install();
  await openPeople(page, ACME);
  const deactivate = async (): Promise<void> => {
    await choose(page, 'Deactivate');
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
  };
  await page.getByRole('checkbox', { name: `Select ${ADA}` }).check();
  const restore = await loseResponses(page, app, 'users.bulkUpdate');
  await deactivate();
  await page.getByText('The service cannot be reached. Check your connection.').waitFor();
  await app.as(ACME).users.update({ ...person, is_active: true });
  await restore();
  await page.clock.fastForward(6 * 60_000);
  await deactivate();
  await page.getByText('Deactivated: 1 changed').waitFor();

  assert.is((await app.as(ACME).users.get(person)).is_active, false);
});

bulk('the bar of actions follows the table, covers no row, and goes with Escape', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  for (const viewport of [
    { width: 1280, height: 800 },
    { width: 390, height: 844 },
  ]) {
    await page.setViewportSize(viewport);
    await openPeople(page, ACME);
    assert.is(await barOf(page).count(), 0);
    const boxes = page.getByRole('checkbox', { name: /^Select .*@/ });
    const last = boxes.last();
    await last.check();
    await page.getByText('1 selected. Actions follow the table.').waitFor({ state: 'attached' });
    await page.keyboard.press('Tab');
    while (await page.evaluate<boolean>('document.activeElement.closest("table") !== null'))
      await page.keyboard.press('Tab');
    const first = barOf(page).getByRole('button').first();
    assert.ok(
      await first.evaluate((button: unknown) => Object(globalThis).document.activeElement === button),
    );
    const [row, bar] = [await last.boundingBox(), await barOf(page).getByText('1 selected').boundingBox()];
    assert.ok(row && bar && row.y + row.height <= bar.y, `${viewport.width}`);
    await page.keyboard.press('Escape');

    await barOf(page).waitFor({ state: 'detached' });
    assert.not.ok(await last.isChecked());
  }
});

bulk(
  'Escape closes a dialog, and keeps the selection; another list begins without one',
  async ({ browser }) => {
    await using visit = await browser.open();
    const { page } = visit;
    await openPeople(page, ACME);
    await page.getByRole('checkbox', { name: `Select ${ADA}` }).check();
    await choose(page, 'Grant apps');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await barOf(page).getByText('1 selected').waitFor();
    await chooseFilter(page, 'Status', 'Active');

    await barOf(page).waitFor({ state: 'detached' });
  },
);

bulk('staff select no one', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPeople(page, STAFF);

  assert.is(await page.getByRole('checkbox').count(), 0);
});

bulk.run();
