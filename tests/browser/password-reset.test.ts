import * as assert from 'uvu/assert';
import { browserSuite, fillLogin, seesHeading } from '../support/browser.ts';
import { mailedPasswordPath } from '../support/mailed-links.ts';
import { GRACE } from '../support/test-app.ts';

const reset = browserSuite('a forgotten password');

const NEW = 'a fine new one';

reset('is replaced by a link, once, and the new one logs in', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await page.goto('/login/');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await page.getByLabel('Email address').fill(GRACE);
  await page.getByRole('button', { name: 'Send me a link' }).click();
  await seesHeading(page, 'Look into your mailbox');
  const path = await mailedPasswordPath(app, GRACE);

  await page.goto(path);
  await page.getByLabel('New password').fill('grace');
  await page.getByRole('button', { name: 'Set password' }).click();
  await page.getByText('Please choose one that keeps every rule above.').waitFor();
  assert.is(new URL(page.url()).search, '', 'the secret must not stay in the address');
  await page.getByLabel('New password').fill(NEW);
  await page.getByRole('button', { name: 'Set password' }).click();
  await seesHeading(page, 'Your new password is set');
  await page.getByRole('link', { name: 'Log in' }).click();
  await fillLogin(page, GRACE, NEW);
  await seesHeading(page, 'Hello Grace');

  await using other = await browser.open();
  await other.page.goto(path);
  await seesHeading(other.page, 'This link no longer works');
});

reset.run();
