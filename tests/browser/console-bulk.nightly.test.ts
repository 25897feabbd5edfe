import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { browserSuite, LOST } from '../support/browser.ts';
import { loseResponses, openConsole, resizeTo } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN } from '../support/usage.ts';

const bulk = browserSuite('changes of many people in the console', LOST);

const openPeople = async (page: Page, email = ACME): Promise<void> => {
  await openConsole(page, '/console/people', email);
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
};
const barOf = (page: Page) => page.getByRole('region', { name: 'Selected people' });
const select = async (page: Page, ...emails: string[]): Promise<void> => {
  for (const email of emails) await page.getByRole('checkbox', { name: `Select ${email}` }).check();
};
const choose = async (page: Page, action: string): Promise<void> => {
  const bar = barOf(page);
  const button = bar.getByRole('button', { name: action });
  if ((await button.count()) > 0) return button.click();
  await bar.getByRole('button', { name: 'Further actions' }).click();
  await page.getByRole('menuitem', { name: action }).click();
};
const confirm = async (page: Page, action: string): Promise<void> => {
  await choose(page, action);
  await page.getByRole('dialog').getByRole('button', { name: action }).click();
};
const usersOf = async (app: TestApp) => app.as(ACME).users.list({ app: 'sales' });
const isActive = async (app: TestApp, email: string) => (await app.as(ACME).users.get({ email })).is_active;

bulk('an admin grants an app to everyone who matches, and undoes it', async ({ app, page }) => {
  const before = await usersOf(app);
  await openPeople(page);
  await page.getByRole('checkbox', { name: 'Select all who match' }).check();
  await page.getByText('4 selected', { exact: true }).waitFor();
  await assertLooksGood(page, 'console-bulk');
  await choose(page, 'Grant apps');
  await page.getByRole('checkbox', { name: 'Sales' }).check();
  await page.getByRole('dialog').getByRole('button', { name: 'Grant apps' }).click();
  await page.getByText(/^Granted Sales to \d+ (person|people)\.$/).waitFor();
  assert.ok((await usersOf(app)).length > before.length);

  await resizeTo(page, { width: 1280, height: 360 });
  const result = await page.getByRole('status').filter({ hasText: 'Granted Sales' }).boundingBox();
  const button = await page.getByRole('button', { name: 'Undo' }).boundingBox();
  assert.ok(result && button && button.y + button.height <= result.y + result.height, 'also in a low window');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(/^Undone: \d+ changes?\./).waitFor();
  assert.equal(await usersOf(app), before);
});

bulk('an admin gives a team an app for two weeks, and then adds them to a group', async ({ app, page }) => {
  const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Forecasters', members: [], apps: [CHURN] });
  const members = async () => (await app.as(ACME).groups.get({ id: 1, group_id: id })).members;
  const endOf = async (email: string) =>
    (await app.as(ACME).grants.list({ app_id: CHURN })).find((grant) => grant.email === email)?.expires_at;
  const sameEnd = page.getByRole('button', { name: /^Let theirs end on \d+ \w+, too$/ });
  const grantForTwoWeeks = async () => {
    await select(page, ADA, GRACE);
    await choose(page, 'Grant apps');
    const dialog = page.getByRole('dialog', { name: 'Grant apps: 2 people' });
    await dialog.getByRole('checkbox', { name: 'Churn' }).check();
    await dialog.getByRole('combobox', { name: 'Until' }).click();
    await page.getByRole('option', { name: 'In 2 weeks' }).click();
    await dialog.getByRole('button', { name: 'Grant apps' }).click();
    await page.getByText(/^Granted Churn to \d (person|people) until \d+ \w+ \d{4}\.$/).waitFor();
    await sameEnd.waitFor();
  };
  await openPeople(page);
  await grantForTwoWeeks();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(/^Undone: \d changes?\./).waitFor();
  assert.is(await sameEnd.count(), 0, 'not after an undo');

  await grantForTwoWeeks();
  const expires_at = await endOf(GRACE);
  assert.ok(expires_at && expires_at.getTime() - app.clock.now().getTime() < 15.1 * DAY_MS);
  assert.is(await endOf(ADA), null);
  await page.getByText('Ada Lovelace had it already.').waitFor();
  await sameEnd.click();
  await page.getByText(/^1 now ends on \d+ \w+ \d{4}, too\.$/).waitFor();
  assert.equal(await endOf(ADA), expires_at);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(/^Undone: \d changes?\./).waitFor();

  await select(page, ADA, GRACE);
  await choose(page, 'Add to groups');
  const groups = page.getByRole('dialog', { name: 'Add to groups: 2 people' });
  await groups.getByRole('combobox', { name: 'Groups' }).click();
  await page.getByRole('option', { name: 'Forecasters' }).click();
  await groups.getByRole('button', { name: 'Add to groups' }).click();
  await page.getByText('Added 2 people to Forecasters.').waitFor();
  assert.equal(await members(), [ADA, GRACE]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: 2 changes.').waitFor();
  assert.equal(await members(), []);
});

bulk('refusals are listed, and a change is undone from its entry', async ({ app, page }) => {
  await openPeople(page);
  await select(page, ACME, GRACE);
  await confirm(page, 'Suspend');
  await page.getByText('Suspended 1 person. Alex Acme was refused.').waitFor();
  await page.getByRole('button', { name: 'Details' }).click();
  await page.getByRole('listitem').filter({ hasText: 'Alex Acme: ' }).waitFor();
  assert.equal([await isActive(app, GRACE), await isActive(app, ACME)], [false, true]);
  await page.goto(`/console/audit?target=${GRACE}`);
  await page.getByRole('button', { name: 'suspended Grace Hopper' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: 1 change.').waitFor();
  assert.ok(await isActive(app, GRACE));
});

bulk('a repeat after a lost response sends no second mail', async ({ app, page }) => {
  await openPeople(page);
  await select(page, ADA);
  const restore = await loseResponses(page, app, 'users.bulkUpdate');
  await confirm(page, 'Send a password link');
  await page.getByText('The service cannot be reached. Check your connection.').waitFor();
  await restore();
  await confirm(page, 'Send a password link');
  await page.getByText('Sent a password link to 1 person.').waitFor();
  assert.is((await app.as(ROOT).mail.list({ recipient: ADA })).length, 1);
});

bulk.run();
