import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../src/demo/packages.ts';
import { browserSuite } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, ROOT, STAFF } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

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
  await app.as(ACME).apps.update({
    app_id: SALES,
    help_html: '<p>Choose a page of <b>Sales</b> on the left.</p>',
    footer_html: '<p>Sample data.</p>',
    maintenance_message: '<p>Sales is back on Monday.</p>',
  });
});

testAppearance(apps, {
  'console-apps': showing('/console/apps', 'Apps', ROOT),
  'console-app': showing(SALES_SCREEN, 'Sales', ROOT),
  'console-app-texts': showing(TEXTS, 'Sales', ROOT),
  'console-app-versions': showing(VERSIONS, 'Sales', ROOT),
  'console-app-access': showing(`${SALES_SCREEN}/access`, 'People with access to Sales', ROOT),
});

apps('the list counts the people with access, and leads to them', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/apps', ACME);
  const row = page.getByRole('row').filter({ hasText: 'Sales' });
  await row.getByRole('link', { name: '2', exact: true }).click();
  await page.waitForURL('**/console/people?app=sales');

  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
  assert.is(await page.getByRole('row').count(), 3);
});

apps('the people with access are shown with the reason, and anyone can be checked', async (context) => {
  const { app, browser } = context;
  const email = 'no-apps@acme.test';
  await app.as(ACME).users.create({ email, client: 1, apps: [] });
  const expires_at = new Date('2031-03-31T12:00:00Z');
  await app.as(ACME).grants.update({ app_id: SALES, email: GRACE, expires_at, reason: 'Audit' });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, SALES_SCREEN, ACME);
  await page.getByRole('link', { name: 'Acme Analytics' }).waitFor();
  await page.getByRole('link', { name: 'People with access' }).click();
  const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name });
  await rowOf('Grace Hopper').getByText('“Audit”').waitFor();
  await rowOf('Grace Hopper').getByText('Ends 31 Mar 2031').waitFor();
  await rowOf('Alex Acme').getByText('Admin of the client').waitFor();
  assert.is(await rowOf(email).count(), 0);
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

apps('apps are found by words and client, and show their days', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/apps', ROOT);
  const rows = page.getByRole('table', { name: 'Apps' }).getByRole('row');
  await rows.filter({ hasText: 'Globex Data' }).waitFor();
  await page.getByRole('searchbox', { name: 'Search apps' }).fill('SAL');
  await page.waitForURL('**/console/apps?search=SAL');
  await rows.filter({ hasText: 'Fleet' }).waitFor({ state: 'detached' });
  const line = rows.filter({ hasText: 'Sales' }).getByRole('img', { name: /^Actions by day/ });
  await line.waitFor();

  const today = (await app.as(ROOT).usage.series({ app_id: SALES, window: 1 }))[0]?.actions;
  assert.match(String(await line.getAttribute('aria-label')), `Actions by day: ${today} today`);
  assert.is((await line.locator('polyline').getAttribute('points'))?.split(' ').length, 30);
  assert.is(await rows.count(), 2);
});

apps('an admin changes the help of an app, and sees it in a sandboxed preview', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, TEXTS, ACME);
  await page.getByLabel('Help (HTML)').fill('<h4>Ask Grace</h4>');
  const preview = page.getByTitle('Preview of the help');
  await preview.contentFrame().getByRole('heading', { name: 'Ask Grace' }).waitFor();
  await page.getByRole('switch', { name: 'Show the help' }).check();
  await page.getByRole('button', { name: 'Save texts' }).click();
  await page.getByText('Saved.').waitFor();

  const { help_html, show_help } = await app.as(ACME).apps.get({ app_id: SALES });
  assert.equal([help_html, show_help], ['<h4>Ask Grace</h4>', true]);
  assert.is(await preview.getAttribute('sandbox'), '');
});

apps('an empty label is refused at its field', async ({ app, browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, TEXTS, ACME);
  const label = page.getByLabel('Name', { exact: true });
  await label.fill('');
  await page.getByRole('button', { name: 'Save texts' }).click();
  await page.locator('input[aria-invalid=true]').waitFor();

  assert.is(await label.getAttribute('aria-invalid'), 'true');
  assert.is((await app.as(ACME).apps.get({ app_id: SALES })).label, 'Sales');
});

apps('maintenance starts after a question, with its message', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/apps/Qm3vR8pa', ACME);
  await page.getByRole('switch', { name: 'In maintenance' }).check();
  await page.getByLabel('Message (HTML)').fill('Back at noon.');
  await page.getByRole('button', { name: 'Start maintenance…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Start maintenance?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  const before = await app.as(ACME).apps.status({ app_id: 'Qm3vR8pa' });
  await page.getByRole('button', { name: 'Start maintenance…' }).click();
  await dialog.getByRole('button', { name: 'Start maintenance', exact: true }).click();
  await page.getByText('Saved.').waitFor();

  const after = await app.as(ADA).apps.status({ app_id: 'Qm3vR8pa' });
  assert.equal([before.in_maintenance, after.in_maintenance], [false, true]);
  assert.is(after.maintenance_message, 'Back at noon.');
});

apps('the preview of maintenance is the page that members get', async ({ app, browser }) => {
  await app.as(ACME).apps.update({ app_id: 'Qm3vR8pa', in_maintenance: false });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/apps/Qm3vR8pa', ACME);
  const preview = page.getByRole('region', { name: 'Preview of the page' });
  await page.getByRole('button', { name: 'Edit the message' }).click();
  await page.getByLabel('Message (HTML)').fill('');
  await preview.frameLocator('iframe').getByText('Please try again later.').waitFor();
  await page.getByLabel('Message (HTML)').fill('<b>Back</b> soon <img src="/missing.png">');
  await preview.frameLocator('iframe').getByText('Back').waitFor();
  const shown = (await preview.locator('iframe').getAttribute('srcdoc')) ?? '';
  const { label } = await app.as(ACME).apps.get({ app_id: 'Qm3vR8pa' });

  await preview.getByText(`${label} is in maintenance`).waitFor();
  assert.match(shown, '<div class="message"><b>Back</b> soon </div>');
});

apps('staff load a version and roll back to another one', async ({ app, browser }) => {
  const version = async () => (await app.as(STAFF).apps.status({ app_id: SALES })).version;
  await app.as(STAFF).appPackages.fetch({ app_slug: 'sales', app_version: '1.0.0' });
  await app.as(STAFF).appPackages.load({ app_slug: 'sales' });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, VERSIONS, STAFF);
  await page.getByRole('button', { name: 'Fetch' }).click();
  await page.getByText('Fetched. Load it to apply it.').waitFor();
  await page.getByRole('button', { name: 'Load 1.1.0' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Load' }).click();
  await page.getByText('sales 1.1.0', { exact: true }).waitFor();
  const loaded = await version();
  await page.getByRole('button', { name: 'Roll back to 1.0.0' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
  await page.getByText('sales 1.0.0', { exact: true }).waitFor();

  assert.equal([loaded, await version()], ['1.1.0', '1.0.0']);
});

apps('a package that cannot be fetched is explained', async ({ app, browser }) => {
  await writeFile(join(app.packagesDir, 'churn-1.0.0.tgz'), 'not an archive');
  await writeFile(join(app.packagesDir, 'churn-1.0.0.tgz.sha256'), `${'0'.repeat(64)}  churn-1.0.0.tgz\n`);
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, '/console/apps/Qm3vR8pa?tab=versions', STAFF);
  await page.getByLabel('Version in the package store').fill('9.9.9');
  await page.getByRole('button', { name: 'Fetch' }).click();
  await page.getByRole('alert').filter({ hasText: 'No such version' }).waitFor();
  await page.getByLabel('Version in the package store').fill('1.0.0');
  await page.getByRole('button', { name: 'Fetch' }).click();
  await page.getByRole('alert').filter({ hasText: 'The package is invalid' }).waitFor();

  assert.equal(await app.as(STAFF).apps.versions({ app_id: 'Qm3vR8pa' }), []);
});

apps('a fetch is tried again once the package store is back', async ({ app, browser }) => {
  const away = `${app.packagesDir}-away`;
  await rename(app.packagesDir, away);
  await writeFile(app.packagesDir, 'a file where a folder should be');
  await using visit = await browser.open(/responded with a status of 503/);
  const { page } = visit;
  await openConsole(page, VERSIONS, STAFF);
  await page.getByRole('button', { name: 'Fetch' }).click();
  const alert = page.getByRole('alert').filter({ hasText: 'The package store is unavailable' });
  await alert.waitFor();
  await rm(app.packagesDir);
  await rename(away, app.packagesDir);
  const before = await app.as(STAFF).apps.versions({ app_id: SALES });
  app.clock.advance(1_000);
  await alert.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Fetched. Load it to apply it.').waitFor();

  const after = await app.as(STAFF).apps.versions({ app_id: SALES });
  assert.is(await alert.count(), 0);
  assert.is(after[0]?.version, '1.1.0');
  assert.ok(Number(after[0]?.fetched_at) > Number(before[0]?.fetched_at));
});

apps('the chart shows the days of the address, and the table has its numbers', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, SALES_SCREEN, ACME);
  await page.getByText('60 days', { exact: true }).click();
  await page.waitForURL('**?days=60');
  await page.getByRole('img', { name: /^Actions and people per day/ }).waitFor();
  await page.getByRole('button', { name: 'Show as a table' }).click();
  const rows = page.getByRole('table', { name: 'Usage per day' }).getByRole('row');
  await rows.nth(60).waitFor();

  const today = (await app.as(ACME).usage.series({ app_id: SALES, window: 60 })).at(-1);
  assert.is(await rows.count(), 61);
  assert.is(await rows.nth(1).innerText(), `21 Nov 2026\t${today?.actions}\t${today?.users}`);
});

apps('a client admin may not fetch packages, and a member changes nothing', async ({ browser }) => {
  await using admin = await browser.open();
  await openConsole(admin.page, VERSIONS, ACME);
  await admin.page.getByRole('heading', { name: 'Versions' }).waitFor();
  await using member = await browser.open();
  await openConsole(member.page, SALES_SCREEN, ADA);
  const open = member.page.getByRole('link', { name: 'Open Sales' });
  await open.waitFor();
  assert.is(await open.getAttribute('href'), '/launch/sales/');

  assert.is(await admin.page.getByRole('button', { name: 'Fetch' }).count(), 0);
  assert.is(await member.page.getByRole('button', { name: /^Save/ }).count(), 0);
  assert.is(await member.page.getByRole('heading', { name: 'Versions' }).count(), 0);
  assert.is(await member.page.getByRole('link', { name: 'Apps', exact: true }).count(), 0);
});

apps.run();
