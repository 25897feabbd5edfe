import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite } from '../support/browser.ts';
import {
  chooseClient,
  chooseFilter,
  goTo,
  openConsole,
  searchFilter,
  waitForData,
} from '../support/console.ts';
import { setRows } from '../support/rows.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, EDSGER, GLOBEX, GRACE, ROOT } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const usage = browserSuite('usage in the console');

/** The fleet has had no use since 2020, nor has its user; members use other apps without logging in. */
usage.before(async ({ app }) => {
  const db = app.db();
  const since = new Date('2020-01-01T00:00:00Z');
  await setRows(app, 'users', {}, { date_joined: since, last_login: null });
  await setRows(app, 'apps', { id: FLEET }, { created_at: since });
  for (const table of ['usage_days', 'usage_app_days'] as const)
    await db.deleteFrom(table).where('app_id', '=', FLEET).execute();
});

/** Eleven weeks and this one, until the Saturday of the clock. */
const DAYS_OF_12_WEEKS = 11 * 7 + 6;

/** Waits until the address has exactly these parameters. */
const waitForSearch = (page: Page, expected: Record<string, string>): Promise<void> =>
  page.waitForURL(
    ({ searchParams }) =>
      JSON.stringify([...searchParams].toSorted()) === JSON.stringify(Object.entries(expected).toSorted()),
  );

const choosePeriod = (page: Page, label: string) =>
  page.getByRole('radiogroup', { name: 'Period' }).getByText(label, { exact: true }).click();

/** Downloads a file, as lines of text. */
const download = async (page: Page, name: RegExp): Promise<string[]> => {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name }).click(),
  ]);
  return (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n');
};

usage('a client, its app, a stack and a person are compared by week and month', async ({ app, page }) => {
  const rows = (interval: string) =>
    page.getByRole('table', { name: `Usage by ${interval}` }).getByRole('row');
  await openConsole(page, '/console/', ROOT);
  const chart = page.getByRole('img', { name: /^Actions by day/ });
  await chart.waitFor();
  await page.getByRole('link', { name: 'All usage' }).click();
  await chooseClient(page, 'Acme Analytics');
  await choosePeriod(page, '12 months');
  await waitForSearch(page, { client: '1', period: '12m' });
  await waitForData(page);
  await assertLooksGood(page, 'console-usage');
  await page.getByRole('button', { name: 'Show as a table' }).click();
  await rows('month').nth(12).waitFor();
  const report = await app.as(ROOT).usage.report({ client: 1, interval: 'month', periods: 12 });

  await page.getByRole('button', { name: 'Download' }).click();
  const csv = await download(page, /^All apps by month/);
  assert.equal(
    csv.slice(1),
    report.map((row) => Object.values(row).join(',')),
  );

  await page.getByRole('button', { name: 'Sales' }).click();
  await chooseFilter(page, 'Page group', 'Overview');
  await waitForSearch(page, { client: '1', app: SALES, stack: 'a0a91e46', period: '12m' });
  await searchFilter(page, 'Person', 'hop', 'Grace Hopper');
  await choosePeriod(page, '26 weeks');
  await waitForSearch(page, { client: '1', app: SALES, email: GRACE, period: '26w' });
  await page.reload();
  await page.getByRole('button', { name: 'Show as a table' }).click();
  await rows('week').nth(26).waitFor();
  const person = { app_id: SALES, email: GRACE, interval: 'week', periods: 26 } as const;
  const [newest] = await app.as(ROOT).usage.report(person);
  assert.match(await rows('week').nth(1).innerText(), `\t${newest?.actions}\t${newest?.previous_actions}\t`);
  await page.getByRole('button', { name: 'Person: Grace Hopper' }).waitFor();
});

usage('entries continue while scrolling, and are downloaded as CSV', async ({ app, page }) => {
  await openConsole(page, `/console/usage?app=${SALES}`);
  const table = page.getByRole('table', { name: 'Newest entries' });
  const firstRow = table.getByRole('row').nth(1);
  await firstRow.waitFor();
  const { items } = await app.as(ACME).usage.list({ app_id: SALES, limit: 1 });
  const newest = await firstRow.innerText();
  await table.hover();
  await page.mouse.wheel(0, 4_000);
  await table.locator('[aria-rowindex="103"]').waitFor({ state: 'attached' });

  assert.match(newest, items[0]?.action_description ?? 'no entry');

  await goTo(page, '/console/apps');
  await goTo(page, `/console/usage?app=${SALES}&email=${GRACE}&interval=week`);
  await page.getByRole('button', { name: 'Download' }).click();
  const entries = await download(page, /^Entries of Sales/);
  const days = await app.as(ACME).usage.series({ app_id: SALES, email: GRACE, window: DAYS_OF_12_WEEKS });
  const actions = days.reduce((sum, day) => sum + day.actions, 0);
  assert.is(entries.filter((line) => line.includes(GRACE)).length, actions);
});

usage('two apps are compared in one chart, with their unused seats', async ({ page }) => {
  await openConsole(page, '/console/usage', ROOT);
  await chooseFilter(page, 'App', 'Sales');
  await page.getByText('Up to 5 apps are compared.').waitFor();
  await page.getByRole('option', { name: 'Fleet' }).click();
  await page.getByText('Actions in Sales and Fleet, with a line for each app.').waitFor();
  await page.keyboard.press('Escape');
  await waitForSearch(page, { app: `${SALES},${FLEET}` });
  await page.getByRole('img', { name: /with a line for each app/ }).waitFor();
  const apps = page.getByRole('table', { name: 'Apps' });
  await apps.getByRole('button', { name: 'Fleet' }).waitFor();
  await assertLooksGood(page, 'console-usage-compared');
  await page.getByRole('button', { name: 'Show as a table' }).click();
  const table = page.getByRole('table', { name: 'Actions by day and app' });

  assert.equal(await table.getByRole('columnheader').allInnerTexts(), ['Day', 'Sales', 'Fleet']);
  assert.is(await apps.getByRole('row').count(), 3, 'with the headings');

  const unused = page.getByRole('link', { name: /with access to Fleet did not use it/ });
  const count = await unused.innerText();
  await unused.click();
  await page.getByRole('button', { name: 'Used: Not for 28 days' }).waitFor();
  await page.getByText(new RegExp(`^${count} (person|people)$`)).waitFor();
});

usage('the former screen of what is unused opens views of apps and people', async ({ app, page }) => {
  await openConsole(page, '/console/idle?kind=apps&days=60', ROOT);
  await page.getByRole('button', { name: 'View: Unused' }).waitFor();
  const apps = page.getByRole('table', { name: 'Apps' });
  await apps.getByRole('link', { name: 'Fleet' }).waitFor();
  const unusedApps = await apps.getByRole('row').count();
  await page.goto('/console/idle?days=180');
  await page.getByRole('button', { name: 'Last seen: Over 180 days ago' }).waitFor();
  await chooseClient(page, 'Globex Data');
  await page.getByText('2 people', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'View: Unused' }).waitFor();
  await page.getByRole('checkbox', { name: `Select ${EDSGER}` }).check();
  await page.getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await page.getByText('Suspended 1 person.').waitFor();

  assert.is(unusedApps, 2, 'with the row of headings');
  assert.is((await app.as(ROOT).users.get({ email: EDSGER })).is_active, false);
  assert.is((await app.as(ROOT).users.get({ email: GLOBEX })).is_active, true);
});

usage.run();
