import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { loseResponses, openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ADA, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const account = browserSuite('the own account in the console');

const NEW_PASSWORD = 'Correct-Battery-7';
const WRONG_PASSWORD = 'This is not your current password.';
/** What Chromium says about a refusal that a test causes. */
const REFUSED = /responded with a status of 4/;

const createToken = async (page: Page, name: string): Promise<void> => {
  await page.getByLabel('Name of a new token').fill(name);
  await page.getByRole('button', { name: 'Create token' }).click();
};
const namesOfTokens = async (app: TestApp, email: string) =>
  (await app.as(email).tokens.list()).map(({ name }) => name);
const logIn = (app: TestApp, email: string, password: string) =>
  app.send('POST /session/', { payload: { username: email, password } });

/** Enters the password that the prompt asks for. */
const confirmPassword = async (page: Page): Promise<void> => {
  const prompt = page.getByRole('dialog', { name: 'Confirm your password' });
  await prompt.getByLabel('Password', { exact: true }).fill(DEMO_PASSWORD);
  await prompt.getByRole('button', { name: 'Confirm' }).click();
};

testAppearance(account, {
  'console-account': async (page, app) => {
    await app.as(ADA).tokens.createNamed({ name: 'Nightly export' });
    await showing('/console/account', 'Account', ADA)(page, app);
  },
  'console-account-token': async (page, app) => {
    await showing('/console/account', 'Account', ADA)(page, app);
    await createToken(page, 'Shown once');
    await page.getByRole('textbox', { name: 'Token', exact: true }).waitFor();
  },
});

account('rules are checked while a password is typed, and it is changed', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/account', GRACE);
  await page.getByLabel('Current password').fill(DEMO_PASSWORD);
  await page.getByLabel('New password').fill('short');
  await page.getByText('✗ At least 8 characters.').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Change password' }).isDisabled());
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.getByText('✓ At least 8 characters.').waitFor();
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('Password changed.').waitFor();

  assert.is((await logIn(app, GRACE, NEW_PASSWORD)).statusCode, 200);
  await page.reload();
  await waitForHeading(page, 'Account');
});

account('a wrong current password is reported at its field', async ({ app, browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, '/console/account', ADA);
  await page.getByLabel('Current password').fill('wrong');
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText(WRONG_PASSWORD).waitFor();

  assert.is((await logIn(app, ADA, DEMO_PASSWORD)).statusCode, 200);
});

account('another session is revoked', async ({ app, browser }) => {
  await app.db().deleteFrom('sessions').execute();
  await logIn(app, ADA, DEMO_PASSWORD);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/account', ADA);
  await page.getByRole('button', { name: 'Revoke the session' }).click();
  await page.getByText('Session revoked.').waitFor();

  await page.getByText('This one').waitFor();
  await page.getByText('Chrome 140 on Linux', { exact: true }).waitFor();
  assert.is((await app.db().selectFrom('sessions').selectAll().execute()).length, 1);
});

account('a token is shown once, works, and is revoked', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/account', ADA);
  await createToken(page, 'Report');
  const token = await page.getByRole('textbox', { name: 'Token', exact: true }).inputValue();
  const headers = { authorization: `Token ${token}` };
  assert.is((await app.send('GET /session/', { headers })).statusCode, 200);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Revoke Report' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Token revoked.').waitFor();

  assert.is((await app.send('GET /session/', { headers })).statusCode, 401);
});

account('a token needs the password again 16 minutes after the login', async ({ app, browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, '/console/account', ADA);
  await waitForHeading(page, 'Account');
  app.clock.advance(16 * MINUTE_MS);
  await createToken(page, 'Late');
  const prompt = page.getByRole('dialog', { name: 'Confirm your password' });
  await prompt.getByLabel('Password', { exact: true }).fill('wrong');
  await prompt.getByRole('button', { name: 'Confirm' }).click();
  await prompt.getByText(WRONG_PASSWORD).waitFor();
  assert.not((await namesOfTokens(app, ADA)).includes('Late'));
  await confirmPassword(page);
  await page.getByRole('textbox', { name: 'Token', exact: true }).waitFor();

  assert.ok((await namesOfTokens(app, ADA)).includes('Late'));
});

account('a repeat after a lost response shows the same token', async ({ app, browser }) => {
  await using visit = await browser.open(/Failed to load resource/);
  const { page } = visit;
  await openConsole(page, '/console/account', ADA);
  const restore = await loseResponses(page, app, 'tokens.createNamed');
  await createToken(page, 'Once');
  await page.getByText('The service cannot be reached. Check your connection.').waitFor();
  await restore();
  await page.getByRole('button', { name: 'Create token' }).click();
  await page.getByRole('textbox', { name: 'Token', exact: true }).waitFor();

  assert.is((await namesOfTokens(app, ADA)).filter((name) => name === 'Once').length, 1);
});

account('a role is granted after the password was confirmed', async ({ app, browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, '/console/people/edsger@globex.test?tab=security', ROOT);
  await waitForHeading(page, 'Edsger Dijkstra');
  app.clock.advance(16 * MINUTE_MS);
  await page.getByRole('switch', { name: 'Staff' }).click();
  await confirmPassword(page);
  await page.getByText('Saved.').waitFor();

  assert.is((await app.as(ROOT).roles.get({ email: 'edsger@globex.test' })).is_staff, true);
});

account('a person is erased after the password was confirmed', async ({ app, browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await openConsole(page, '/console/people/idle@acme.test', ROOT);
  await waitForHeading(page, 'Ida Idle');
  app.clock.advance(16 * MINUTE_MS);
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Erase this person' }).click();
  await confirmPassword(page);
  await page.getByLabel('Type the email address').fill('idle@acme.test');
  await page.getByRole('button', { name: 'Erase', exact: true }).click();
  await waitForHeading(page, 'People');

  assert.is((await app.send('GET /jb/users/idle@acme.test/', { as: ROOT })).statusCode, 404);
});

account.run();
