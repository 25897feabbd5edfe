import { readFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { chooseFilter, chooseFromMenu, openConsole, searchFilter } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const audit = browserSuite('the audit trail in the console');

const IDLE = 'idle@acme.test';

const rename = (app: TestApp, email: string, name: string) =>
  app.as(ACME).users.update({ email, first_name: name });

audit('actors and targets are found by their names, and chosen exactly', async ({ app, page }) => {
  await rename(app, ADA, 'Adeline');
  app.clock.advance(MINUTE_MS);
  await app.as(ACME).apps.update({ app_id: SALES, help_html: '<p>Help</p>' });
  app.clock.advance(MINUTE_MS);
  await app.as(ACME).clients.invite({ id: 1, email: 'guest@new.test' });
  await openConsole(page, '/console/audit');
  await page.getByText('First name: changed').first().waitFor();
  await assertLooksGood(page, 'console-audit');
  await searchFilter(page, 'Actor', 'ACME', ACME);
  await page.waitForURL('**actor=admin**');
  await searchFilter(page, 'Target', 'sal', 'Sales, app');
  await page.getByText('<p>Help</p>').waitFor();
  await searchFilter(page, 'Target', 'guest', 'guest@new.test, invited');
  await page.getByRole('button', { name: 'invited guest@new.test' }).waitFor();
});

audit('filters and periods are part of the address, and of the CSV file', async ({ app, page }) => {
  await rename(app, ADA, 'Countess');
  await rename(app, GRACE, 'Admiral');
  await openConsole(page, '/console/audit?from=2026-11-20&to=2026-11-22');
  await searchFilter(page, 'Target', 'Hopp', 'Admiral Hopper, grace@acme.test');
  await page.waitForURL('**target=grace**');
  await chooseFilter(page, 'Action', 'Changed a person');
  await page.waitForURL('**action=user.update**');
  await page.reload();
  await page.getByText('First name: changed').waitFor();
  assert.is(await page.getByRole('button', { name: 'Countess' }).count(), 0);
  assert.is(await page.getByLabel('From', { exact: true }).inputValue(), '2026-11-20');
  const [download] = await Promise.all([page.waitForEvent('download'), chooseFromMenu(page, 'Download CSV')]);
  const csv = await readFile(await download.path(), 'utf8');
  assert.match(csv, GRACE);
  assert.not.match(csv, ADA);

  await chooseFilter(page, 'Period', 'Last 7 days');
  await page.getByRole('button', { name: 'changed Admiral Hopper' }).first().waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Period: Last 7 days' }).waitFor();
  await chooseFilter(page, 'Period', 'Other days');
  await page.getByLabel('To', { exact: true }).fill('2026-01-01');
  await page.getByText('No entries match').waitFor();
});

audit('an entry shows what was changed, and leads to the person', async ({ app, page }) => {
  await rename(app, IDLE, 'Idris');
  app.clock.advance(MINUTE_MS);
  await app.as(ACME).groups.create({ id: 1, name: 'Idlers', members: [IDLE] });
  await openConsole(page, `/console/people/${IDLE}?tab=history`);
  await page.getByRole('link', { name: 'Open in the audit trail' }).click();
  await page.waitForURL('**/console/audit?*person=idle*');
  await page.getByRole('button', { name: 'created the group Idlers' }).waitFor();
  await page.getByRole('button', { name: 'Alex Acme changed Idris Idle' }).first().click();
  const row = page.getByRole('table', { name: 'Before and after' }).getByRole('row', { name: 'First name' });
  await row.waitFor();
  assert.match(await row.innerText(), /changed/);
  await assertLooksGood(page, 'console-audit-entry');
  await page.getByRole('dialog').getByRole('link', { name: 'Idris Idle' }).click();
  await waitForHeading(page, 'Idris Idle');
});

audit('a change of many users is one row, which opens to its entries', async ({ app, page }) => {
  const change = { emails: [ADA, GRACE], action: 'revoke-apps' as const, apps: [SALES] };
  const { operation } = await app.as(ACME).users.bulkUpdate(change);
  await openConsole(page, '/console/audit');
  await page.getByRole('button', { name: 'Alex Acme took Sales from 2 people' }).click();
  await page.getByRole('table', { name: 'Entries of this operation' }).waitFor();
  await assertLooksGood(page, 'console-audit-operation');
  await page.getByRole('button', { name: 'Alex Acme took Sales from Countess' }).click();
  await page.getByRole('button', { name: 'Copy as JSON' }).waitFor();
  await page.getByRole('button', { name: 'All 2 entries' }).click();
  await page.keyboard.press('Escape');
  await app.as(ACME).operations.undo({ id: operation });
  await page.reload();
  await page.getByText('granted Sales to 2 people, to undo a change').waitFor();

  await page.getByText('Logins and failures').click();
  await page.waitForURL('**kind=logins**');
  await page.getByRole('button', { name: 'logged in with a password' }).first().waitFor();
  await assertLooksGood(page, 'console-audit-logins');
  await chooseFilter(page, 'Action', 'Changed a person');
  await page.getByRole('option', { name: 'Created a group' }).click();
  await page.waitForURL('**action=user.update%2Cgroup.create**');
});

audit.run();
