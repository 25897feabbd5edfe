import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../src/demo/packages.ts';
import { browserSuite } from '../support/browser.ts';
import { goTo, openConsole, waitForData } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, ROOT, STAFF } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const apps = browserSuite('apps in the console');

const SALES_SCREEN = `/console/apps/${SALES}`;
const TEXTS = `${SALES_SCREEN}?tab=texts`;
const VERSIONS = `${SALES_SCREEN}?tab=versions`;
/** What Chromium says about a refusal that a test causes. */
const REFUSED = /responded with a status of 4/;

apps.before(async ({ app }) => {
  await publishDemoPackages(app.store);
  const { appPackages } = app.as(STAFF);
  for (const app_version of ['1.0.0', '1.1.0']) await appPackages.fetch({ app_slug: 'sales', app_version });
});

apps('are found by words and client, with their days and their people', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/apps', ROOT);
  const rows = page.getByRole('table', { name: 'Apps' }).getByRole('row');
  await rows.filter({ hasText: 'Globex Data' }).waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-apps');
  await page.getByRole('searchbox', { name: 'Search apps' }).fill('SAL');
  await page.waitForURL('**/console/apps?search=SAL');
  await rows.filter({ hasText: 'Fleet' }).waitFor({ state: 'detached' });
  const sales = rows.filter({ hasText: 'Sales' });
  const line = sales.getByRole('img', { name: /^Actions by day/ });
  await line.waitFor();
  const today = (await app.as(ROOT).usage.series({ app_id: SALES, window: 1 }))[0]?.actions;
  assert.match(String(await line.getAttribute('aria-label')), `Actions by day: ${today} today`);
  assert.is((await line.locator('polyline').getAttribute('points'))?.split(' ').length, 30);
  assert.is(await rows.count(), 2);

  await sales.getByRole('link', { name: '2', exact: true }).click();
  await page.waitForURL('**/console/people?app=sales*');
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
});

apps('show the people with access with the reason, and anyone can be checked', async ({ app, browser }) => {
  const email = 'no-apps@acme.test';
  await app.as(ACME).users.create({ email, client: 1, apps: [] });
  const expires_at = new Date('2031-03-31T12:00:00Z');
  await app.as(ACME).grants.update({ app_id: SALES, email: GRACE, expires_at, reason: 'Audit' });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, SALES_SCREEN, ACME);
  await page.getByRole('link', { name: 'Acme Analytics' }).waitFor();
  await page.getByText('60 days', { exact: true }).click();
  await page.waitForURL('**?days=60');
  await page.getByRole('img', { name: /^Actions and people per day/ }).waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-app');
  await page.getByRole('button', { name: 'Show as a table' }).click();
  const days = page.getByRole('table', { name: 'Usage per day' }).getByRole('row');
  await days.nth(60).waitFor();
  const today = (await app.as(ACME).usage.series({ app_id: SALES, window: 60 })).at(-1);
  assert.is(await days.count(), 61);
  assert.is(await days.nth(1).innerText(), `21 Nov 2026\t${today?.actions}\t${today?.users}`);

  await page.getByRole('link', { name: 'People with access' }).click();
  const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name });
  await rowOf('Grace Hopper').getByText('“Audit”').waitFor();
  await rowOf('Grace Hopper').getByText('Ends 31 Mar 2031').waitFor();
  await rowOf('Alex Acme').getByText('Admin of the client').waitFor();
  assert.is(await rowOf(email).count(), 0);
  await assertLooksGood(page, 'console-app-access');
  await page.getByRole('combobox', { name: 'Check a person' }).fill(email);
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('No grant, group or role gives the app.').waitFor();
  await dialog.getByRole('button', { name: 'Grant the app' }).click();
  await dialog.getByRole('button', { name: 'Grant', exact: true }).click();
  await rowOf(email).getByRole('button', { name: 'Why?' }).click();
  await dialog.getByText('Granted directly').waitFor();
  assert.equal((await app.as(ACME).users.get({ email })).apps, [SALES]);
});

apps('have texts that an admin changes, with a sandboxed preview', async ({ app, browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, TEXTS, ACME);
  const label = page.getByLabel('Name', { exact: true });
  await label.fill('');
  await page.getByRole('button', { name: 'Save texts' }).click();
  await label.and(page.locator('[aria-invalid=true]')).waitFor();
  await label.fill('Sales');
  await page.getByLabel('Help (HTML)').fill('<h4>Ask Grace</h4>');
  const preview = page.getByTitle('Preview of the help');
  await preview.contentFrame().getByRole('heading', { name: 'Ask Grace' }).waitFor();
  assert.is(await preview.getAttribute('sandbox'), '');
  await page.getByRole('switch', { name: 'Show the help' }).check();
  await assertLooksGood(page, 'console-app-texts');
  await page.getByRole('button', { name: 'Save texts' }).click();
  await page.getByText('Saved.').waitFor();
  const saved = await app.as(ACME).apps.get({ app_id: SALES });
  assert.equal([saved.label, saved.help_html, saved.show_help], ['Sales', '<h4>Ask Grace</h4>', true]);
});

apps('are in maintenance after a question, with a preview of the page that members get', async (context) => {
  const { app, browser } = context;
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/apps/${CHURN}`, ACME);
  await page.getByRole('switch', { name: 'In maintenance' }).check();
  const preview = page.getByRole('region', { name: 'Preview of the page' });
  await preview.frameLocator('iframe').getByText('Please try again later.').waitFor();
  await page.getByLabel('Message (HTML)').fill('<b>Back</b> soon <img src="/missing.png">');
  await preview.frameLocator('iframe').getByText('Back').waitFor();
  await preview.getByText('Churn is in maintenance').waitFor();
  const shown = (await preview.locator('iframe').getAttribute('srcdoc')) ?? '';
  assert.match(shown, '<div class="message"><b>Back</b> soon </div>');

  await page.getByRole('button', { name: 'Start maintenance…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Start maintenance?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  const before = await app.as(ACME).apps.status({ app_id: CHURN });
  await page.getByRole('button', { name: 'Start maintenance…' }).click();
  await dialog.getByRole('button', { name: 'Start maintenance', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  const after = await app.as(ADA).apps.status({ app_id: CHURN });
  assert.equal([before.in_maintenance, after.in_maintenance], [false, true]);
});

apps('get another version by staff, who roll back to the one before', async ({ app, browser }) => {
  const version = async () => (await app.as(STAFF).apps.status({ app_id: SALES })).version;
  await app.as(STAFF).appPackages.fetch({ app_slug: 'sales', app_version: '1.0.0' });
  await app.as(STAFF).appPackages.load({ app_slug: 'sales' });
  await writeFile(join(app.packagesDir, 'churn-1.0.0.tgz'), 'not an archive');
  await writeFile(join(app.packagesDir, 'churn-1.0.0.tgz.sha256'), `${'0'.repeat(64)}  churn-1.0.0.tgz\n`);
  await using visit = await browser.open(/responded with a status of (4|503)/);
  const { page } = visit;
  await openConsole(page, VERSIONS, STAFF);
  await page.getByRole('button', { name: 'Fetch' }).click();
  await page.getByText('Fetched. Load it to apply it.').waitFor();
  await page.getByRole('button', { name: 'Load 1.1.0' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Load' }).click();
  await page.getByText('sales 1.1.0', { exact: true }).waitFor();
  assert.is(await version(), '1.1.0');
  await assertLooksGood(page, 'console-app-versions');
  await page.getByRole('button', { name: 'Roll back to 1.0.0' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
  await page.getByText('sales 1.0.0', { exact: true }).waitFor();
  assert.is(await version(), '1.0.0');

  const alert = (text: string) => page.getByRole('alert').filter({ hasText: text });
  const away = `${app.packagesDir}-away`;
  await rename(app.packagesDir, away);
  await writeFile(app.packagesDir, 'a file where a folder should be');
  await page.getByRole('button', { name: 'Fetch' }).click();
  await alert('The package store is unavailable').waitFor();
  await rm(app.packagesDir);
  await rename(away, app.packagesDir);
  await alert('The package store is unavailable').getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Fetched. Load it to apply it.').waitFor();

  await goTo(page, `/console/apps/${CHURN}?tab=versions`);
  await page.getByLabel('Version in the package store').fill('9.9.9');
  await page.getByRole('button', { name: 'Fetch' }).click();
  await alert('No such version').waitFor();
  await page.getByLabel('Version in the package store').fill('1.0.0');
  await page.getByRole('button', { name: 'Fetch' }).click();
  await alert('The package is invalid').waitFor();
});

apps.run();
