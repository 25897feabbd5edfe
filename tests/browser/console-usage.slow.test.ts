import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, GRACE } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const usage = browserSuite('usage in the console');

testAppearance(usage, { 'console-usage': showing(`/console/usage?app=${SALES}&days=90`, 'Usage') });

const choose = async (page: Page, label: string, text: string, option: string): Promise<void> => {
  await page.getByRole('combobox', { name: label }).click();
  await page.getByRole('combobox', { name: label }).fill(text);
  await page.getByRole('option', { name: option }).click();
};

usage('the usage of a person in an app is chosen, and kept in the address', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/usage');
  await page.getByText('Choose an app, a person, or both.').waitFor();
  await choose(page, 'App', 'sal', 'Sales');
  await choose(page, 'Person', 'hop', 'Grace Hopper');
  await page.getByText('365 days', { exact: true }).click();
  await page.waitForURL(`**/console/usage?app=${SALES}&email=grace%40acme.test&days=365`);
  await page.reload();
  await page.getByRole('img', { name: /^Actions per day/ }).waitFor();
  const rows = page.getByRole('table', { name: 'Usage per day' }).getByRole('row');
  await rows.nth(365).waitFor();

  const series = await app.as(ACME).usage.series({ app_id: SALES, email: GRACE, window: 365 });
  assert.is(await rows.nth(1).innerText(), `${series.at(-1)?.day}\t${series.at(-1)?.actions}`);
  assert.is(await page.getByRole('combobox', { name: 'Person' }).inputValue(), 'Grace Hopper');
});

usage('the entries are the newest of the app, and continue while scrolling', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/usage?app=${SALES}`);
  const table = page.getByRole('table', { name: 'Newest entries' });
  const firstRow = table.getByRole('row').nth(1);
  await firstRow.waitFor();
  const { items } = await app.as(ACME).usage.list({ app_id: SALES, limit: 1 });
  const newest = await firstRow.innerText();
  await table.hover();
  await page.mouse.wheel(0, 4_000);
  await table.and(page.locator('[aria-rowcount="201"]')).waitFor();

  assert.match(newest, items[0]?.action_description ?? 'no entry');
});

usage('the CSV has the entries of the chosen person and days', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/usage?app=${SALES}&email=${GRACE}&days=90`);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download CSV' }).click(),
  ]);
  const csv = await readFile(await download.path(), 'utf8');

  const days = await app.as(ACME).usage.series({ app_id: SALES, email: GRACE, window: 90 });
  const actions = days.reduce((sum, day) => sum + day.actions, 0);
  assert.is(csv.match(/grace@acme\.test/g)?.length, actions);
});

usage.run();
