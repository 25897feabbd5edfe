import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { browserSuite, REFUSED } from '../support/browser.ts';
import { goTo, openConsole, waitForData } from '../support/console.ts';
import { setRows } from '../support/rows.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, GRACE, STAFF, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { CHURN, SALES } from '../support/usage.ts';

const home = browserSuite('Home and requests in the console', REFUSED);

const GUEST = 'expires-soon@acme.test';
const INA = 'ina@acme.test';

home.before(async ({ app }) => {
  const acme = app.as(ACME);
  await acme.invitations.create({ items: [{ email: GUEST, client: 1 }] });
  const soon = new Date(app.clock.now().getTime() + DAY_MS);
  await setRows(app, 'invitations', { email: GUEST }, { expires_at: soon });
  await acme.apps.update({ app_id: SALES, in_maintenance: true });
  await acme.apps.update({ app_id: CHURN, is_requestable: true });
  const name = { first_name: 'Ina', last_name: 'Inquire' };
  await acme.users.create({ email: INA, ...name, client: 1, send_email: false });
});

home.after.each(async ({ app }) => {
  for (const { email, id } of await app.as(ACME).requests.list({ status: 'pending' }))
    await app.as(email).requests.withdraw({ id });
  await app.as(ACME).users.update({ email: GRACE, apps: [SALES] });
});

const ask = (app: TestApp, email: string, reason = 'Year-end closing') =>
  app.as(email).requests.create({ app: CHURN, reason, days: 14 });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

home('a line for each kind leads to what needs attention', async ({ app, page }) => {
  await openConsole(page, '/console/');
  const lineOf = (text: string) => page.getByRole('listitem').filter({ hasText: text });
  const expiring = lineOf('1 invitation about to expire');
  await expiring.getByText(GUEST).waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-home-attention');
  await page.getByRole('button', { name: 'Send again: expiring invitations' }).click();
  await page.getByText('1 of 1 queued again. Mails wait until a mail server is set up.').waitFor();
  await expiring.waitFor({ state: 'detached' });
  const [invitation] = await app.as(ACME).invitations.search({ search: GUEST });
  const inAWeek = new Date(app.clock.now().getTime() + 7 * DAY_MS);
  assert.ok(invitation && invitation.expires_at > inAWeek, 'a mail that is sent again starts the time again');

  const maintenance = lineOf('1 app in maintenance');
  await maintenance.getByRole('link', { name: 'Sales' }).waitFor();
  await maintenance.getByRole('link', { name: 'Review apps in maintenance' }).click();
  await page.waitForURL('**/apps?in_maintenance=true');
  await page.locator('h1:focus', { hasText: 'Apps' }).waitFor();
  await page.getByRole('table').getByRole('link', { name: 'Sales' }).waitFor();
});

home('requests are allowed on the screen of the app, which lists them', async ({ app, page }) => {
  await ask(app, GRACE);
  const toggle = page.getByRole('switch', { name: 'People may ask for this app' });
  const isRequestable = async () => (await app.as(ACME).apps.status({ app_id: CHURN })).is_requestable;
  await openConsole(page, `/console/apps/${CHURN}`);
  await button(page, 'Approve Churn for Grace Hopper').waitFor();
  await page.getByRole('tab', { name: 'Settings' }).click();
  await toggle.and(page.locator(':checked')).waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-app-requests');
  await toggle.press('Space');
  await until('requests are not allowed', async () => !(await isRequestable()));
  await toggle.and(page.locator(':enabled:not(:checked)')).waitFor();
  await toggle.press('Space');
  await until('requests are allowed', isRequestable);

  await goTo(page, `/console/people/${GRACE}`);
  await button(page, 'Approve Churn for Grace Hopper').waitFor();
  await openConsole(page, `/console/apps/${CHURN}`, STAFF);
  await page.getByText('“Year-end closing”').waitFor();
  assert.is(await button(page, 'Approve Churn for Grace Hopper').count(), 0);
  await page.getByRole('tab', { name: 'Settings' }).click();
  await page.getByText('People may ask for this app – Yes').waitFor();
});

home('requests are sent by members, and approved with a key', async ({ app, browser, page }) => {
  await ask(app, INA);
  await openConsole(page, '/console/', GRACE);
  await button(page, 'Ask for access to Churn').click();
  const dialog = page.getByRole('dialog', { name: 'Ask for Churn' });
  await dialog.getByLabel('Reason').fill('Year-end closing');
  await assertLooksGood(page, 'console-ask');
  await dialog.getByRole('combobox', { name: 'For how long' }).click();
  await page.getByRole('option', { name: 'A month' }).click();
  await dialog.getByRole('button', { name: 'Ask for access' }).click();
  await button(page, 'Withdraw the request for Churn').waitFor();
  assert.is(await button(page, 'Ask for access to Churn').count(), 0);

  await using admin = await browser.open();
  await openConsole(admin.page, '/console/');
  await admin.page.getByText('Grace Hopper asks for Churn for a month').waitFor();
  await assertLooksGood(admin.page, 'console-home-requests');
  await admin.page.getByRole('button', { name: 'Until… Approve Churn for Ina Inquire' }).click();
  await admin.page.getByRole('dialog', { name: 'Approve Churn for Ina Inquire' }).waitFor();
  await admin.page.keyboard.press('Escape');
  await button(admin.page, 'Approve Churn for Grace Hopper').focus();
  await admin.page.keyboard.press('a');
  await admin.page.getByText('Approved: Churn for Grace Hopper.').waitFor();
  await admin.page.locator('button[aria-label="Approve Churn for Ina Inquire"]:focus').waitFor();
  const grant = (await app.as(ACME).grants.list({ app_id: CHURN })).find(({ email }) => email === GRACE);
  const days = ((grant?.expires_at?.getTime() ?? 0) - app.clock.now().getTime()) / DAY_MS;
  assert.ok(days > 29.9 && days < 30.1, `${days} days`);

  await page.reload();
  await page.locator(`a[href="/launch/churn/"]`).waitFor();
  await page.getByText(/^By admin@acme.test, .*, until /).waitFor();
});

home('requests are denied with a word, which the member reads', async ({ app, page }) => {
  await ask(app, GRACE);
  await openConsole(page, '/console/');
  // Anywhere in the row.
  await page.getByRole('region', { name: 'Requests for apps' }).getByRole('link', { name: 'Churn' }).focus();
  await page.keyboard.press('d');
  await page.getByLabel('Message to the person').waitFor();
  await assertLooksGood(page, 'console-deny-request');
  await page.getByLabel('Message to the person').fill('Use the report of the team.');
  await page.getByRole('dialog').getByRole('button', { name: 'Deny' }).click();
  await page.getByText('Denied: Churn for Grace Hopper.').waitFor();
  await page.getByRole('heading', { name: 'Requests for apps' }).waitFor({ state: 'detached' });
  await page.locator('h1:focus').waitFor();

  await openConsole(page, '/console/', GRACE);
  await page.getByText('“Use the report of the team.”').waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-home-own-requests');
  await button(page, 'Ask for access to Churn').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Ask for access' }).click();
  await button(page, 'Withdraw the request for Churn').click();
  await button(page, 'Ask for access to Churn').waitFor();
  assert.equal(await app.as(ACME).requests.list({ email: GRACE, status: 'pending' }), []);
});

home.run();
