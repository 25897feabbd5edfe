import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { browserSuite } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { CHURN, SALES } from '../support/usage.ts';

const requests = browserSuite('requests in the console');

const INA = 'ina@acme.test';

/** Grants end by the clock of the database. */
requests.before(async ({ app }) => {
  app.clock.advance(Date.now() - app.clock.now().getTime());
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
  const name = { first_name: 'Ina', last_name: 'Inquire' };
  await app.as(ACME).users.create({ email: INA, ...name, client: 1, send_email: false });
});

const ask = (app: TestApp, email: string, reason = 'Year-end closing') =>
  app.as(email).requests.create({ app: CHURN, reason, days: 14 });
const pendingOf = (app: TestApp, email: string) => app.as(ACME).requests.list({ email, status: 'pending' });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

requests.after.each(async ({ app }) => {
  for (const { email, id } of await app.as(ACME).requests.list({ status: 'pending' }))
    await app.as(email).requests.withdraw({ id });
  await app.as(ACME).users.update({ email: GRACE, apps: [SALES] });
});

testAppearance(requests, {
  'console-home-requestable': async (page, app) => {
    await showing('/console/', 'Hello Grace', GRACE)(page, app);
    await button(page, 'Ask for access to Churn').waitFor();
  },
  'console-ask': async (page) => {
    await openConsole(page, '/console/', GRACE);
    await button(page, 'Ask for access to Churn').click();
    await page.getByRole('dialog', { name: 'Ask for Churn' }).waitFor();
  },
  'console-home-own-requests': async (page, app) => {
    await app.as(ACME).apps.update({ app_id: SALES, is_requestable: true });
    await app.as(ACME).users.update({ email: GRACE, apps: [] });
    const { id, version } = await app.as(GRACE).requests.create({ app: SALES, reason: 'Curious' });
    await app.as(ACME).requests.deny({ id, version, reason: 'Ask again when the year is closed.' });
    await ask(app, GRACE);
    await showing('/console/', 'Hello Grace', GRACE)(page, app);
    await button(page, 'Withdraw the request for Churn').waitFor();
    await page.getByText('“Ask again when the year is closed.”').waitFor();
    await app.as(ACME).apps.update({ app_id: SALES, is_requestable: false });
  },
  'console-home-requests': async (page, app) => {
    await ask(app, GRACE, 'I need the forecasts of the whole team for the meeting with the board next week.');
    await ask(app, INA);
    await showing('/console/', 'Hello Alex')(page, app);
    await button(page, 'Approve Churn for Grace Hopper').focus();
  },
  'console-app-requests': async (page, app) => {
    await ask(app, GRACE);
    await showing(`/console/apps/${CHURN}`, 'Churn')(page, app);
    await button(page, 'Approve Churn for Grace Hopper').waitFor();
  },
  'console-person-requests': async (page, app) => {
    await ask(app, GRACE);
    await showing(`/console/people/${GRACE}`, 'Grace Hopper')(page, app);
    await button(page, 'Approve Churn for Grace Hopper').waitFor();
  },
  'console-deny-request': async (page, app) => {
    await ask(app, GRACE);
    await openConsole(page, '/console/');
    await button(page, 'Deny Churn for Grace Hopper').click();
    await page.getByRole('dialog', { name: 'Deny Churn for Grace Hopper' }).waitFor();
  },
  'console-approve-request': async (page, app) => {
    await ask(app, GRACE);
    await openConsole(page, '/console/');
    await page.getByRole('button', { name: 'Until… Approve Churn for Grace Hopper' }).click();
    await page.getByRole('dialog', { name: 'Approve Churn for Grace Hopper' }).waitFor();
  },
});

requests('are allowed on the screen of the app, which lists them', async ({ app, browser }) => {
  await ask(app, GRACE);
  await using visit = await browser.open();
  const { page } = visit;
  const toggle = page.getByRole('switch', { name: 'People may ask for this app' });
  const isRequestable = async () => (await app.as(ACME).apps.status({ app_id: CHURN })).is_requestable;
  await openConsole(page, `/console/apps/${CHURN}`);
  await button(page, 'Approve Churn for Grace Hopper').waitFor();
  await toggle.and(page.locator(':checked')).waitFor();
  await toggle.press('Space');
  await until('requests are not allowed', async () => !(await isRequestable()));
  await page.reload();
  await toggle.and(page.locator(':enabled')).waitFor();
  assert.not(await toggle.isChecked());
  await toggle.press('Space');
  await until('requests are allowed', isRequestable);

  await openConsole(page, `/console/people/${GRACE}`);
  await button(page, 'Approve Churn for Grace Hopper').waitFor();
  await openConsole(page, `/console/apps/${CHURN}`, STAFF);
  await page.getByText('“Year-end closing”').waitFor();
  assert.is(await button(page, 'Approve Churn for Grace Hopper').count(), 0);
  await page.getByText('People may ask for this app – Yes').waitFor();
});

requests(
  'are sent by members, and approved with a key for as long as they want',
  async ({ app, browser }) => {
    await ask(app, INA);
    await using member = await browser.open();
    await openConsole(member.page, '/console/', GRACE);
    await button(member.page, 'Ask for access to Churn').click();
    const dialog = member.page.getByRole('dialog', { name: 'Ask for Churn' });
    await dialog.getByLabel('Reason').fill('Year-end closing');
    await dialog.getByRole('combobox', { name: 'For how long' }).click();
    await member.page.getByRole('option', { name: 'A month' }).click();
    await dialog.getByRole('button', { name: 'Ask for access' }).click();
    await button(member.page, 'Withdraw the request for Churn').waitFor();
    assert.is(await button(member.page, 'Ask for access to Churn').count(), 0);

    await using admin = await browser.open();
    await openConsole(admin.page, '/console/');
    await admin.page.getByText('Grace Hopper asks for Churn for a month').waitFor();
    await button(admin.page, 'Approve Churn for Grace Hopper').focus();
    await admin.page.keyboard.press('a');
    await admin.page.getByText('Approved: Churn for Grace Hopper.').waitFor();
    await admin.page.locator('button[aria-label="Approve Churn for Ina Inquire"]:focus').waitFor();
    const grant = (await app.as(ACME).grants.list({ app_id: CHURN })).find(({ email }) => email === GRACE);
    const days = ((grant?.expires_at?.getTime() ?? 0) - Date.now()) / DAY_MS;
    assert.ok(days > 29.9 && days < 30.1, `${days} days`);

    await member.page.reload();
    await member.page.locator(`a[href="/launch/churn/"]`).waitFor();
    await member.page.getByText(/^By admin@acme.test, .*, until /).waitFor();
  },
);

requests('are denied with a word, which the member reads', async ({ app, browser }) => {
  await ask(app, GRACE);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  // Anywhere in the row.
  await page.getByRole('region', { name: 'Requests for apps' }).getByRole('link', { name: 'Churn' }).focus();
  await page.keyboard.press('d');
  const message = page.getByLabel('Message to the person');
  await message.waitFor();
  await page.keyboard.type('Use the report of the team.');
  await page.getByRole('dialog').getByRole('button', { name: 'Deny' }).click();
  await page.getByText('Denied: Churn for Grace Hopper.').waitFor();
  await page.getByRole('heading', { name: 'Requests for apps' }).waitFor({ state: 'detached' });
  await page.locator('h1:focus').waitFor();

  await openConsole(page, '/console/', GRACE);
  await page.getByText('“Use the report of the team.”').waitFor();
  await button(page, 'Ask for access to Churn').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Ask for access' }).click();
  await button(page, 'Withdraw the request for Churn').click();
  await button(page, 'Ask for access to Churn').waitFor();
  assert.equal(await pendingOf(app, GRACE), []);
});

requests('that were decided elsewhere say by whom, and disappear', async ({ app, browser }) => {
  const { id, version } = await ask(app, GRACE);
  await using visit = await browser.open(/status of 409/);
  const { page } = visit;
  // The console would hear of the decision, before the click on a busy machine.
  await page.route('**/trpc/events.*', () => {});
  await openConsole(page, '/console/');
  await button(page, 'Approve Churn for Grace Hopper').waitFor();
  await app.as(ROOT).requests.deny({ id, version });
  await button(page, 'Approve Churn for Grace Hopper').click();
  await page.getByRole('alert').getByText(`This request was denied by ${ROOT}.`).waitFor();
  await button(page, 'Approve Churn for Grace Hopper').waitFor({ state: 'detached' });
});

requests.run();
