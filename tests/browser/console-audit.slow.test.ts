import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ROOT, type TestApp } from '../support/test-app.ts';
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

const chooseSubject = async (page: Page, field: string, text: string, found: string): Promise<void> => {
  await page.getByRole('combobox', { name: field }).fill(text);
  await page.getByRole('option', { name: found }).click();
};

audit('actors and targets are found by their names, and chosen exactly', async ({ app, browser }) => {
  await rename(app, 'ada@acme.test', 'Adeline');
  await app.as(ACME).apps.update({ app_id: SALES, help_html: '<p>Help</p>' });
  await app.as(ACME).clients.invite({ id: 1, email: 'guest@new.test' });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit');
  await chooseSubject(page, 'Actor', 'ACME', ACME);
  await page.waitForURL('**actor=admin**');
  await chooseSubject(page, 'Target', 'sal', 'Sales, app');
  await page.getByText('<p>Help</p>').waitFor();
  await chooseSubject(page, 'Target', 'guest', 'guest@new.test, invited');
  await page.getByRole('button', { name: 'guest@new.test' }).waitFor();
  await chooseSubject(page, 'Target', 'Nobody', 'Nothing found. Entries of exactly “Nobody”');
  await page.getByText('No entries match').waitFor();
  await page.getByRole('combobox', { name: 'Target' }).fill('ada');
  await page.getByRole('option', { name: 'ada@acme.test' }).waitFor();
  await page.keyboard.press('Enter');

  await page.waitForURL('**target=ada**');
  await page.getByText('→ "Adeline"').waitFor();
  await page.getByRole('combobox', { name: 'Target' }).fill('unfinished');
  await page.getByRole('heading', { name: 'Audit trail' }).click();
  assert.is(await page.getByRole('combobox', { name: 'Target' }).inputValue(), 'ada@acme.test');
});

audit('filters are part of the address', async ({ app, browser }) => {
  await rename(app, 'ada@acme.test', 'Countess');
  await rename(app, 'grace@acme.test', 'Admiral');
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit?from=2026-11-20&to=2026-11-22');
  await chooseSubject(page, 'Target', 'Hopp', 'Admiral Hopper, grace@acme.test');
  await page.waitForURL('**target=grace**');
  await page.getByRole('combobox', { name: 'Action' }).click();
  await page.getByRole('option', { name: 'Changed a person', exact: true }).click();
  await page.waitForURL('**action=user.update**');
  await page.reload();

  await page.getByText('First name: "Grace" → "Admiral"').waitFor();
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
    const choose = async (period: string): Promise<void> => {
      await page.getByRole('combobox', { name: 'Period' }).click();
      await page.getByRole('option', { name: period }).click();
    };
    await choose('Yesterday');
    await page.getByText('No entries match').waitFor();
    assert.is(await page.getByLabel('From', { exact: true }).count(), 0);
    await choose('Last 7 days');
    await page.getByRole('button', { name: 'Details of' }).first().waitFor();
    await page.reload();
    assert.is(await page.getByRole('combobox', { name: 'Period' }).inputValue(), 'Last 7 days');
    await choose('Other days');
    await page.getByLabel('To', { exact: true }).fill('2026-01-01');

    await page.getByText('No entries match').waitFor();
  },
);

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
  await openConsole(page, '/console/people/grace@acme.test');
  await page.getByRole('link', { name: 'Open in the audit trail' }).click();
  await page.waitForURL('**/console/audit?target=grace*');

  await page.getByText('→ "Rear Admiral"').waitFor();
});

audit('the CSV file has the entries that match the filter', async ({ app, browser }) => {
  await rename(app, 'ada@acme.test', 'Lovelace');
  await rename(app, 'idle@acme.test', 'Idle');
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/audit?target=ada@acme.test&action=user.update');
  const link = page.getByRole('link', { name: 'Download CSV' });
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
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
    await page.getByRole('link', { name: 'History' }).click();
    await change.first().waitFor();
  }
  await openConsole(page, `/console/apps/${SALES}`, ACME);
  await page.getByRole('link', { name: 'What each load has changed' }).click();
  await page.getByText('No entries match').waitFor();
});

audit.run();
