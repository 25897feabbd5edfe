import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../src/demo/packages.ts';
import { browserSuite, REFUSED } from '../support/browser.ts';
import { goTo, openConsole, waitForData } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, GRACE, ROOT, STAFF } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const apps = browserSuite('apps in the console', REFUSED);

const SALES_SCREEN = `/console/apps/${SALES}`;
const SETTINGS = `${SALES_SCREEN}?tab=settings`;
const VERSIONS = `${SALES_SCREEN}?tab=versions`;

apps.before(async ({ app }) => {
  await publishDemoPackages(app.store);
  const { appPackages } = app.as(STAFF);
  for (const app_version of ['1.0.0', '1.1.0']) await appPackages.fetch({ app_slug: 'sales', app_version });
});

apps('are found by words and client, with their days and their people', async ({ page }) => {
  await openConsole(page, '/console/apps', ROOT);
  const rows = page.getByRole('table', { name: 'Apps' }).getByRole('row');
  await rows.filter({ hasText: 'Globex Data' }).waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-apps');
  await page.getByRole('searchbox', { name: 'Search apps' }).fill('SAL');
  await page.waitForURL('**/console/apps?search=SAL');
  await rows.filter({ hasText: 'Fleet' }).waitFor({ state: 'detached' });
  const sales = rows.filter({ hasText: 'Sales' });
  await sales.getByRole('img', { name: /^Actions by day/ }).waitFor();
  assert.is(await rows.count(), 2);

  await sales.getByRole('link', { name: '2', exact: true }).click();
  await page.waitForURL('**/console/people?app=sales*');
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
});

apps('show the people with access with the reason, and anyone can be checked', async ({ app, page }) => {
  const email = 'no-apps@acme.test';
  await app.as(ACME).users.create({ email, client: 1, apps: [] });
  const expires_at = new Date('2031-03-31T12:00:00Z');
  await app.as(ACME).grants.update({ app_id: SALES, email: GRACE, expires_at, reason: 'Audit' });
  await openConsole(page, SALES_SCREEN, ACME);
  await page.getByRole('link', { name: 'Acme Analytics' }).waitFor();
  await page.getByRole('img', { name: /^Actions/ }).waitFor();
  const open = page.getByRole('link', { name: 'Open app' });
  assert.equal(
    [await open.getAttribute('href'), await open.getAttribute('target')],
    ['/launch/sales/', '_blank'],
  );
  await waitForData(page);
  await assertLooksGood(page, 'console-app');

  await page.getByRole('tab', { name: 'People' }).click();
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

apps('have texts that an admin changes, with a sandboxed preview', async ({ app, page }) => {
  await openConsole(page, SETTINGS, ACME);
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
  await assertLooksGood(page, 'console-app-settings');
  await page.getByRole('button', { name: 'Save texts' }).click();
  await page.getByText('Saved.').waitFor();
  const saved = await app.as(ACME).apps.get({ app_id: SALES });
  assert.equal([saved.label, saved.help_html, saved.show_help], ['Sales', '<h4>Ask Grace</h4>', true]);
});

apps('are given to several people until a date, and taken back by an undo', async ({ app, page }) => {
  const people = ['one@acme.test', 'two@acme.test'];
  for (const email of people) await app.as(ACME).users.create({ email, client: 1, apps: [] });
  const appsOf = () =>
    Promise.all(people.map(async (email) => (await app.as(ACME).users.get({ email })).apps));
  // The former address of the tab.
  await openConsole(page, `/console/apps/${CHURN}/access`, ACME);
  await page.waitForURL(`**/console/apps/${CHURN}?tab=people`);
  await page.getByRole('button', { name: 'Add people' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add people to Churn' });
  for (const email of people) {
    await dialog.getByRole('combobox', { name: 'People' }).fill(email);
    await page.getByRole('option', { name: email }).click();
  }
  await dialog.getByRole('combobox', { name: 'Until' }).click();
  await page.getByRole('option', { name: 'In 2 weeks' }).click();
  await assertLooksGood(page, 'console-app-add-people');
  await dialog.getByRole('button', { name: 'Add 2 people' }).click();
  await page.getByText(/^Granted Churn to 2 people until .*\.$/).waitFor();
  assert.equal(await appsOf(), [[CHURN], [CHURN]]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: 2 changes.').waitFor();
  assert.equal(await appsOf(), [[], []]);
});

apps(
  'have planned maintenance with a plain message, which an admin changes and cancels',
  async ({ app, page }) => {
    const status = () => app.as(ACME).apps.status({ app_id: CHURN });
    await openConsole(page, `/console/apps/${CHURN}`, ACME);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Maintenance…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Maintenance of Churn' });
    await dialog.getByText('Plan ahead').click();
    await dialog.getByLabel('Begins').fill('2031-12-04T18:00');
    await dialog.getByLabel('Ends (optional)').fill('2031-12-04T17:00');
    await dialog.getByRole('textbox', { name: 'Message' }).fill('New numbers <3\n\nBack soon.');
    const preview = dialog.getByRole('region', { name: 'Preview of the page' });
    await preview.frameLocator('iframe').getByText('New numbers <3').waitFor();
    await assertLooksGood(page, 'console-app-maintenance');
    await dialog.getByRole('button', { name: 'Plan maintenance' }).click();
    await dialog.getByText('Must be after the begin, and in the future.').waitFor();
    await dialog.getByLabel('Ends (optional)').fill('2031-12-04T20:00');
    await dialog.getByRole('button', { name: 'Plan maintenance' }).click();
    await page.getByText('Maintenance planned: Thu 4 Dec, 18:00–20:00').waitFor();
    await assertLooksGood(page, 'console-app-maintenance-planned');
    assert.is(
      (await app.as(ACME).apps.get({ app_id: CHURN })).maintenance_message,
      '<p>New numbers &lt;3</p>\n<p>Back soon.</p>',
    );
    assert.is((await status()).in_maintenance, false);

    await page.getByRole('button', { name: 'Change' }).click();
    await dialog.getByText('Start now').click();
    await dialog.getByRole('button', { name: 'Start maintenance' }).click();
    await page.getByText(/^In maintenance until Thu 4 Dec/).waitFor();
    assert.is((await status()).in_maintenance, true);
    await page.getByRole('button', { name: 'End maintenance' }).click();
    await page.getByText('Maintenance has ended.').waitFor();
    assert.is((await status()).in_maintenance, false);
  },
);

apps('get another version by staff, who roll back to the one before', async ({ app, page }) => {
  const version = async () => (await app.as(STAFF).apps.status({ app_id: SALES })).version;
  await app.as(STAFF).appPackages.fetch({ app_slug: 'sales', app_version: '1.0.0' });
  await app.as(STAFF).appPackages.load({ app_slug: 'sales' });
  await writeFile(join(app.packagesDir, 'churn-1.0.0.tgz'), 'not an archive');
  await writeFile(join(app.packagesDir, 'churn-1.0.0.tgz.sha256'), `${'0'.repeat(64)}  churn-1.0.0.tgz\n`);
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

  await goTo(page, `/console/apps/${CHURN}?tab=versions`);
  await page.getByLabel('Version in the package store').fill('1.0.0');
  await page.getByRole('button', { name: 'Fetch' }).click();
  await page.getByRole('alert').filter({ hasText: 'The package is invalid' }).waitFor();
});

apps.run();
