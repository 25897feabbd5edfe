import * as assert from 'uvu/assert';
import { browserSuite, fillLogin, waitForHeading } from '../support/browser.ts';
import { mailedPasswordPath } from '../support/mails.ts';
import { GRACE } from '../support/test-app.ts';

const reset = browserSuite('password reset in Chromium');

const NEW = 'a fine new one';

reset('a link sets a new password once, and the new password logs in', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await page.goto('/login/');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await page.getByLabel('Email address').fill(GRACE);
  await page.getByRole('button', { name: 'Send reset link' }).click();
  await waitForHeading(page, 'Check your email');
  const path = await mailedPasswordPath(app, GRACE);

  await page.goto(path);
  await page.getByLabel('New password').fill('grace');
  await page.getByRole('button', { name: 'Set password' }).click();
  await page.getByText('Choose a password that meets all requirements.').waitFor();
  assert.is(new URL(page.url()).search, '', 'the token must not stay in the URL');
  await page.getByLabel('New password').fill(NEW);
  await page.getByRole('button', { name: 'Set password' }).click();
  await waitForHeading(page, 'Password changed');
  await page.getByRole('link', { name: 'Log in' }).click();
  await fillLogin(page, GRACE, NEW);
  await waitForHeading(page, 'Hello Grace');

  await using other = await browser.open();
  await other.page.goto(path);
  await waitForHeading(other.page, 'This link is no longer valid');
});

reset.run();
