import { readFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { chooseFilter, chooseFromMenu, openConsole, searchFilter, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ROOT, type TestApp } from '../support/test-app.ts';
import { eventually } from '../support/time.ts';
import { SALES } from '../support/usage.ts';

const audit = browserSuite('the audit trail in the console');

const rename = (app: TestApp, email: string, name: string) =>
  app.as(ACME).users.update({ email, first_name: name });

testAppearance(audit, {
  'console-audit': async (page, app) => {
    await rename(app, 'ada@acme.test', 'Augusta');
    await showing('/console/audit', 'Audit trail', ROOT)(page, app);
  },
  'console-audit-entry': async (page, app) => {
    await rename(app, 'ada@acme.test', 'Ada');
    await showing('/console/audit?action=user.update', 'Audit trail')(page, app);
    await page.getByRole('button', { name: 'Details of: Changed a person' }).first().click();
    await page.getByRole('table', { name: 'Before and after' }).waitFor();
  },
});

audit('actors and targets are found by their names, and chosen exactly', async ({ app, browser }) => {
  await rename(app, 'ada@acme.test', 'Adeline');
  await app.as(ACME).apps.update({ app_id: SALES, help_html: '<p>Help</p>' });
  await app.as(ACME).clients.invite({ id: 1, email: 'guest@new.test' });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit');
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
  await page.getByRole('option', { name: 'ada@acme.test' }).waitFor();
  await page.keyboard.press('Enter');

  await page.waitForURL('**target=ada**');
  await page.getByText('→ “Adeline”').waitFor();
  await page.getByRole('button', { name: 'Target: ada@acme.test' }).click();
  await page.getByRole('textbox', { name: 'Search: Target' }).fill('unfinished');
  await page.getByRole('heading', { name: 'Audit trail' }).click();
  await page.getByRole('textbox', { name: 'Search: Target' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Target: ada@acme.test' }).waitFor();
});

audit('filters are part of the address', async ({ app, browser }) => {
  await rename(app, 'ada@acme.test', 'Countess');
  await rename(app, 'grace@acme.test', 'Admiral');
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit?from=2026-11-20&to=2026-11-22');
  await searchFilter(page, 'Target', 'Hopp', 'Admiral Hopper, grace@acme.test');
  await page.waitForURL('**target=grace**');
  await chooseFilter(page, 'Action', 'Changed a person');
  await page.waitForURL('**action=user.update**');
  await page.reload();

  await page.getByText('First name: “Grace” → “Admiral”').waitFor();
  assert.is(await page.getByText('Countess').count(), 0);
  assert.is(await page.getByLabel('From', { exact: true }).inputValue(), '2026-11-20');
});

audit(
  'a period of usual length is chosen at once, and other days by their fields',
  async ({ app, browser }) => {
    await rename(app, 'ada@acme.test', 'Enchantress');
    await using visit = await browser.open();
    const { page } = visit;
    await page.clock.setSystemTime(app.clock.now());
    await openConsole(page, '/console/audit');
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
  },
);

audit('entries are cards on phones, also after the window was wide', async ({ app, browser }) => {
  for (const name of ['Card', 'Cards']) await rename(app, 'ada@acme.test', name);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit?target=ada@acme.test&action=user.update');
  await page.getByText('“Card” → “Cards”').waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  const region = page.getByRole('region', { name: 'Audit trail' });
  const rows = region.getByRole('row');
  await eventually(async () => {
    const [first, second] = [await rows.nth(1).boundingBox(), await rows.nth(2).boundingBox()];
    assert.ok(first && second && first.height > 80 && first.y + first.height <= second.y);
  });

  const hidden = `((region) => region.scrollWidth - region.clientWidth)(document.querySelector('section[aria-label]'))`;
  assert.is(await page.evaluate<number>(hidden), 0, 'nothing is scrolled sideways');
  await rows.nth(1).getByText('admin@acme.test').waitFor();
});

audit('changed apps are written by their labels, without empty lists', async ({ app, browser }) => {
  await app.as(ACME).users.update({ email: 'idle@acme.test', apps: [SALES] });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit?target=idle@acme.test&action=user.change-apps');

  await page.getByText('Granted: Sales', { exact: true }).waitFor();
});

audit('entries of a bulk change are in plain words', async ({ app, browser }) => {
  const acme = app.as(ACME);
  const { operation } = await acme.users.bulkUpdate({ emails: ['ada@acme.test'], action: 'deactivate' });
  await acme.operations.undo({ id: operation });
  await acme.users.update({ email: 'ada@acme.test', is_demo_user: true, extra: { region: 'EU' } });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit?target=ada@acme.test');
  await page.getByText('Extra data: changed, Demo account: no → yes').waitFor();
  await page.getByText('Undo of a bulk change').waitFor();
  await page.getByRole('button', { name: 'Part of a bulk change' }).first().click();

  await page.getByRole('dialog', { name: 'Deactivated a person' }).getByText(operation).waitFor();
});

audit('days outside of the range are left out', async ({ app, browser }) => {
  await rename(app, 'ada@acme.test', 'Lady');
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit?to=2026-11-19');

  await page.getByText('No entries match').waitFor();
});

audit('an entry shows what was changed and leads to the person', async ({ app, browser }) => {
  await rename(app, 'idle@acme.test', 'Idris');
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit?target=idle@acme.test');
  await page.getByRole('button', { name: 'Details of: Changed a person, idle@acme.test' }).click();
  const row = page.getByRole('table', { name: 'Before and after' }).getByRole('row', { name: 'First name' });
  await row.waitFor();
  assert.match(await row.innerText(), /Ida\s+Idris/);
  await page.getByRole('dialog').getByRole('link', { name: 'idle@acme.test' }).click();

  await waitForHeading(page, 'Idris Idle');
});

audit('the history of a person leads to their entries', async ({ app, browser }) => {
  await rename(app, 'grace@acme.test', 'Rear Admiral');
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people/grace@acme.test?tab=history');
  await page.getByRole('link', { name: 'Open in the audit trail' }).click();
  await page.waitForURL('**/console/audit?target=grace*');

  await page.getByText('→ “Rear Admiral”').waitFor();
});

audit('the CSV file has the entries that match the filter', async ({ app, browser }) => {
  await rename(app, 'ada@acme.test', 'Lovelace');
  await rename(app, 'idle@acme.test', 'Idle');
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit?target=ada@acme.test&action=user.update');
  const [download] = await Promise.all([page.waitForEvent('download'), chooseFromMenu(page, 'Download CSV')]);
  const csv = await readFile(await download.path(), 'utf8');

  assert.match(csv, 'Lovelace');
  assert.not.match(csv, 'idle@acme.test');
});

audit('apps and clients lead to their changes', async ({ app, browser }) => {
  await app.as(ACME).apps.update({ app_id: SALES, label: 'Sales now' });
  await using visit = await browser.open();
  const { page } = visit;
  const change = page.getByRole('button', { name: 'Details of: Changed an app, sales' });
  for (const path of [`/console/apps/${SALES}`, '/console/clients/1']) {
    await openConsole(page, path, ACME);
    await chooseFromMenu(page, 'History');
    await change.first().waitFor();
  }
  await openConsole(page, `/console/apps/${SALES}?tab=versions`, ACME);
  await page.getByRole('link', { name: 'What each load has changed' }).click();
  await page.getByText('No entries match').waitFor();
});

audit.run();
