import { readFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
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
  await app.as(ACME).apps.update({ app_id: SALES, help_html: '<p>Help</p>' });
  await app.as(ACME).clients.invite({ id: 1, email: 'guest@new.test' });
  await openConsole(page, '/console/audit');
  await page.getByText('First name: changed').first().waitFor();
  await assertLooksGood(page, 'console-audit');
  await searchFilter(page, 'Actor', 'ACME', ACME);
  await page.waitForURL('**actor=admin**');
  await searchFilter(page, 'Target', 'sal', 'Sales, app');
  await page.getByText('<p>Help</p>').waitFor();
  await searchFilter(page, 'Target', 'guest', 'guest@new.test, invited');
  await page.getByRole('button', { name: 'Details of: Invited a person' }).waitFor();
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
  assert.is(await page.getByRole('link', { name: ADA }).count(), 0);
  assert.is(await page.getByLabel('From', { exact: true }).inputValue(), '2026-11-20');
  const [download] = await Promise.all([page.waitForEvent('download'), chooseFromMenu(page, 'Download CSV')]);
  const csv = await readFile(await download.path(), 'utf8');
  assert.match(csv, GRACE);
  assert.not.match(csv, ADA);

  await chooseFilter(page, 'Period', 'Last 7 days');
  await page.getByRole('button', { name: 'Details of' }).first().waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Period: Last 7 days' }).waitFor();
  await chooseFilter(page, 'Period', 'Other days');
  await page.getByLabel('To', { exact: true }).fill('2026-01-01');
  await page.getByText('No entries match').waitFor();
});

audit('an entry shows what was changed, and leads to the person', async ({ app, page }) => {
  await rename(app, IDLE, 'Idris');
  await openConsole(page, `/console/people/${IDLE}?tab=history`);
  await page.getByRole('link', { name: 'Open in the audit trail' }).click();
  await page.waitForURL('**/console/audit?target=idle*');
  await page
    .getByRole('button', { name: `Details of: Changed a person, ${IDLE}` })
    .first()
    .click();
  const row = page.getByRole('table', { name: 'Before and after' }).getByRole('row', { name: 'First name' });
  await row.waitFor();
  assert.match(await row.innerText(), /changed/);
  await assertLooksGood(page, 'console-audit-entry');
  await page.getByRole('dialog').getByRole('link', { name: IDLE }).click();
  await waitForHeading(page, 'Idris Idle');
});

audit.run();
