import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, LOST, waitForHeading } from '../support/browser.ts';
import { loseResponses, openConsole, waitForData } from '../support/console.ts';
import { rowsOf } from '../support/rows.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ADA, DEMO_PASSWORD, GRACE, type TestApp } from '../support/test-app.ts';

const account = browserSuite('the own account in the console', LOST);

const NEW_PASSWORD = 'Correct-Battery-7';
const WRONG_PASSWORD = 'This is not your current password.';

const createToken = async (page: Page, name: string): Promise<void> => {
  await page.getByLabel('Name of a new token').fill(name);
  await page.getByRole('button', { name: 'Create token' }).click();
};
const tokenIn = (page: Page) => page.getByRole('textbox', { name: 'Token', exact: true });
const namesOfTokens = async (app: TestApp, email: string) =>
  (await app.as(email).tokens.list()).map(({ name }) => name);
const logIn = (app: TestApp, email: string, password: string) =>
  app.send('POST /session/', { payload: { username: email, password } });

/** Answers the prompt for the password. */
const confirmPassword = async (page: Page, password = DEMO_PASSWORD): Promise<void> => {
  const prompt = page.getByRole('dialog', { name: 'Confirm your password' });
  await prompt.getByLabel('Password', { exact: true }).fill(password);
  await prompt.getByRole('button', { name: 'Confirm' }).click();
};

account('rules are checked while a password is typed, and it is changed', async ({ app, page }) => {
  await openConsole(page, '/console/account', GRACE);
  const change = page.getByRole('button', { name: 'Change password' });
  await page.getByLabel('Current password').fill('wrong');
  await page.getByLabel('New password').fill('short');
  await page.getByText('✗ At least 8 characters.').waitFor();
  assert.ok(await change.isDisabled());
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.getByText('✓ At least 8 characters.').waitFor();
  await change.click();
  await page.getByText(WRONG_PASSWORD).waitFor();
  await page.getByLabel('Current password').fill(DEMO_PASSWORD);
  await change.click();
  await page.getByText('Password changed.').waitFor();
  assert.is((await logIn(app, GRACE, NEW_PASSWORD)).statusCode, 200);
  await page.reload();
  await waitForHeading(page, 'Account');
});

account('another session is revoked', async ({ app, page }) => {
  await app.db().deleteFrom('sessions').execute();
  await logIn(app, ADA, DEMO_PASSWORD);
  await app.as(ADA).tokens.createNamed({ name: 'Nightly export' });
  await openConsole(page, '/console/account', ADA);
  await page.getByText('Chrome 140 on Linux', { exact: true }).waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-account');
  await page.getByRole('button', { name: 'Revoke the session' }).click();
  await page.getByText('Session revoked.').waitFor();
  await page.getByText('This one').waitFor();
  assert.is((await rowsOf(app, 'sessions')).length, 1);
});

account('a token is shown once, also after a lost response, works, and is revoked', async ({ app, page }) => {
  await openConsole(page, '/console/account', ADA);
  const restore = await loseResponses(page, app, 'tokens.createNamed');
  await createToken(page, 'Report');
  await page.getByText('The service cannot be reached. Check your connection.').waitFor();
  await restore();
  await page.getByRole('button', { name: 'Create token' }).click();
  const headers = { authorization: `Token ${await tokenIn(page).inputValue()}` };
  await assertLooksGood(page, 'console-account-token');
  assert.is((await app.send('GET /session/', { headers })).statusCode, 200);
  assert.is((await namesOfTokens(app, ADA)).filter((name) => name === 'Report').length, 1);
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Revoke Report' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Token revoked.').waitFor();
  assert.is((await app.send('GET /session/', { headers })).statusCode, 401);
});

account('a token shows what it was used for, and is narrowed to that', async ({ app, page }) => {
  const { token } = await app.as(ADA).tokens.createNamed({ name: 'Sites' });
  await app.send('GET /jb/sites/', { headers: { authorization: `Token ${token}` } });
  await openConsole(page, '/console/account', ADA);
  await page.getByRole('button', { name: 'Uses of Sites' }).click();
  const dialog = page.getByRole('dialog', { name: 'What Sites was used for' });
  await dialog.getByRole('cell', { name: 'sites.list' }).waitFor();
  await assertLooksGood(page, 'console-account-token-uses');
  await dialog.getByRole('button', { name: 'Narrow to what it uses' }).click();
  await dialog.getByText('sites:read').waitFor();
  await assertLooksGood(page, 'console-account-token-narrow');
  await dialog.getByRole('button', { name: 'Narrow' }).click();
  await page.getByText('Token narrowed.').waitFor();
  const [narrowed] = (await app.as(ADA).tokens.list()).filter(({ name }) => name === 'Sites');
  assert.equal(narrowed?.scopes, ['sites:read']);
});

account('a token needs the password again 16 minutes after the login', async ({ app, browser, page }) => {
  await openConsole(page, '/console/account', ADA);
  await waitForHeading(page, 'Account');
  await browser.advance(16 * MINUTE_MS);
  await createToken(page, 'Late');
  await confirmPassword(page, 'wrong');
  await page.getByRole('dialog').getByText(WRONG_PASSWORD).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.is(await page.getByLabel('Name of a new token').inputValue(), 'Late', 'what was typed is kept');
  assert.not((await namesOfTokens(app, ADA)).includes('Late'));
  await page.getByRole('button', { name: 'Create token' }).click();
  await confirmPassword(page);
  await tokenIn(page).waitFor();
  assert.ok((await namesOfTokens(app, ADA)).includes('Late'));
});

account.run();
