import { readFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import {
  chooseFilter,
  chooseFromMenu,
  goTo,
  openConsole,
  resizeTo,
  searchFilter,
} from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, type TestApp } from '../support/test-app.ts';
import { eventually } from '../support/time.ts';
import { CHURN, SALES } from '../support/usage.ts';

const audit = browserSuite('the audit trail in the console');

const IDLE = 'idle@acme.test';

const rename = (app: TestApp, email: string, name: string) =>
  app.as(ACME).users.update({ email, first_name: name });

audit('actors and targets are found by their names, and chosen exactly', async ({ app, browser }) => {
  await rename(app, ADA, 'Adeline');
  await app.as(ACME).apps.update({ app_id: SALES, help_html: '<p>Help</p>' });
  await app.as(ACME).clients.invite({ id: 1, email: 'guest@new.test' });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit');
  await page.getByText('First name: changed').first().waitFor();
  await assertLooksGood(page, 'console-audit');
  await searchFilter(page, 'Actor', 'ACME', ACME);
  await page.waitForURL('**actor=admin**');
  await searchFilter(page, 'Target', 'sal', 'Sales, app');
  await page.getByText('<p>Help</p>').waitFor();
  await searchFilter(page, 'Target', 'guest', 'guest@new.test, invited');
  await page.getByRole('button', { name: 'Details of: Invited a person' }).waitFor();
  await searchFilter(page, 'Target', 'Nobody', 'Nothing found. Entries of exactly “Nobody”');
  await page.getByText('No entries match').waitFor();
  await page.getByRole('button', { name: 'Target: Nobody' }).click();
  await page.getByRole('textbox', { name: 'Search: Target' }).fill('ada');
  await page.getByRole('option', { name: ADA }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**target=ada**');
  await page.getByText('First name: changed').first().waitFor();
  await page.getByRole('button', { name: `Target: ${ADA}` }).click();
  await page.getByRole('textbox', { name: 'Search: Target' }).fill('unfinished');
  await page.getByRole('heading', { name: 'Audit trail' }).click();
  await page.getByRole('textbox', { name: 'Search: Target' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: `Target: ${ADA}` }).waitFor();
});

audit('filters and periods are part of the address, and the CSV file has what matches', async (context) => {
  const { app, browser } = context;
  await rename(app, ADA, 'Countess');
  await rename(app, GRACE, 'Admiral');
  await using visit = await browser.open();
  const { page } = visit;
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

  await goTo(page, '/console/people');
  await goTo(page, '/console/audit');
  await chooseFilter(page, 'Period', 'Yesterday');
  await page.getByText('No entries match').waitFor();
  assert.is(await page.getByLabel('From', { exact: true }).count(), 0);
  await chooseFilter(page, 'Period', 'Last 7 days');
  await page.getByRole('button', { name: 'Details of' }).first().waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Period: Last 7 days' }).waitFor();
  await chooseFilter(page, 'Period', 'Other days');
  await page.getByLabel('To', { exact: true }).fill('2026-01-01');
  await page.getByText('No entries match').waitFor();
});

audit('entries are in plain words, and cards on phones, also after the window was wide', async (context) => {
  const { app, browser } = context;
  const acme = app.as(ACME);
  await acme.users.update({ email: GRACE, apps: [SALES, CHURN] });
  const { operation } = await acme.users.bulkUpdate({ emails: [GRACE], action: 'deactivate' });
  await acme.operations.undo({ id: operation });
  await acme.users.update({ email: GRACE, is_demo_user: true, extra: { region: 'EU' } });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/audit?target=${GRACE}`);
  await page.getByText('Granted: Churn', { exact: true }).waitFor();
  await page.getByText('Extra data: changed, Demo account: no → yes').waitFor();
  await page.getByText('Undo of a bulk change').waitFor();
  await resizeTo(page, { width: 390, height: 844 });
  const region = page.getByRole('region', { name: 'Audit trail' });
  const rows = region.getByRole('row');
  await eventually(async () => {
    const [first, second] = [await rows.nth(1).boundingBox(), await rows.nth(2).boundingBox()];
    assert.ok(first && second && first.height > 80 && first.y + first.height <= second.y);
  });
  const hidden = `((region) => region.scrollWidth - region.clientWidth)(document.querySelector('section[aria-label]'))`;
  assert.is(await page.evaluate<number>(hidden), 0, 'nothing is scrolled sideways');
  await rows.nth(1).getByText(ACME).waitFor();
  await page.getByRole('button', { name: 'Part of a bulk change' }).first().click();
  await page.getByRole('dialog', { name: 'Deactivated a person' }).getByText(operation).waitFor();
});

audit('an entry shows what was changed and leads to the person, and their history to it', async (context) => {
  const { app, browser } = context;
  await rename(app, IDLE, 'Idris');
  await using visit = await browser.open();
  const { page } = visit;
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

audit('apps and clients lead to their changes', async ({ app, browser }) => {
  await app.as(ACME).apps.update({ app_id: SALES, label: 'Sales now' });
  await using visit = await browser.open();
  const { page } = visit;
  const change = page.getByRole('button', { name: 'Details of: Changed an app, sales' });
  await openConsole(page, `/console/apps/${SALES}?tab=versions`);
  await page.getByRole('link', { name: 'What each load has changed' }).click();
  await page.getByText('No entries match').waitFor();
  for (const path of [`/console/apps/${SALES}`, '/console/clients/1']) {
    await goTo(page, path);
    await chooseFromMenu(page, 'History');
    await change.first().waitFor();
  }
});

audit.run();
