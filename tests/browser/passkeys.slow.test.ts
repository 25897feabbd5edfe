import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, fillLogin, REFUSED, waitForHeading } from '../support/browser.ts';
import { addVirtualAuthenticator, disableConditionalUi, enrollInBrowser } from '../support/passkeys.ts';
import { testAppearance } from '../support/screenshots.ts';
import { enroll } from '../support/second-factors.ts';
import { ADA, DEMO_PASSWORD, EDSGER, GRACE } from '../support/test-app.ts';

const passkeys = browserSuite('passkeys in Chromium', REFUSED);

const SIGN_IN = 'Log in with a passkey';
/** A page that offers no passkeys: the login page would use one that is not saved yet. */
const WITHOUT_OFFERS = '/password/reset/';
const REFUSAL = 'This passkey was not accepted. Try again, or log in another way.';
const NOT_USED = 'No passkey was used. Try again, or log in another way.';

const enterPassword = async (page: Page, email: string, path = '/login/'): Promise<void> => {
  await page.goto(path);
  await fillLogin(page, email, DEMO_PASSWORD);
};

passkeys('are not offered before anyone has one', async ({ page }) => {
  await page.goto('/login/');

  assert.is(await page.getByRole('button', { name: SIGN_IN }).count(), 0);
  assert.is(await page.locator('script').count(), 0);
});

passkeys('log in alone, by the keyboard, and continue to `next`', async ({ app, page }) => {
  const authenticator = await addVirtualAuthenticator(page);
  await disableConditionalUi(page);
  await page.goto(WITHOUT_OFFERS);
  await enrollInBrowser(page, app, ADA);
  await page.goto('/login/?next=/console/account');
  await page.getByRole('button', { name: SIGN_IN }).focus();
  await page.keyboard.press('Enter');
  await waitForHeading(page, 'Account');

  const [credential] = await authenticator.credentials();
  assert.equal([credential?.rpId, credential?.isResidentCredential], ['localhost', true]);
});

passkeys('are offered by the browser in the field for the email address', async ({ app, page }) => {
  await addVirtualAuthenticator(page);
  await page.goto(WITHOUT_OFFERS);
  await enrollInBrowser(page, app, ADA);
  await page.goto('/login/');
  // The virtual authenticator chooses the account at once.
  await waitForHeading(page, 'Hello Ada');
});

passkeys('follow the password, beside the code of an app', async ({ app, page }) => {
  const authenticator = await addVirtualAuthenticator(page);
  await page.goto(WITHOUT_OFFERS);
  await enrollInBrowser(page, app, GRACE);
  await authenticator.setPresent(false);
  await enterPassword(page, GRACE, '/login/?next=/console/account');
  await waitForHeading(page, 'Use your passkey');
  assert.is(await page.getByLabel('Code').count(), 0);
  await page.getByRole('button', { name: 'Use your passkey' }).waitFor();
  await authenticator.setPresent(true);
  // The button has the focus.
  await page.keyboard.press('Enter');
  await waitForHeading(page, 'Account');

  await enroll(app, GRACE, 'Phone');
  await page.goto('/');
  await authenticator.setPresent(false);
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await enterPassword(page, GRACE);
  await waitForHeading(page, 'Enter your code');
  await authenticator.setPresent(true);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await waitForHeading(page, 'Hello Grace');
});

passkeys('say in one sentence why they failed, and keep the focus', async ({ app, page }) => {
  const authenticator = await addVirtualAuthenticator(page);
  await disableConditionalUi(page);
  await page.goto(WITHOUT_OFFERS);
  await enrollInBrowser(page, app, EDSGER);
  await page.goto('/login/');
  await authenticator.setVerified(false);
  const button = page.getByRole('button', { name: SIGN_IN });
  await button.click();
  await page.getByRole('alert').getByText(NOT_USED).waitFor();
  assert.is(await page.evaluate('document.activeElement.textContent'), SIGN_IN);

  const [factor] = (await app.as(EDSGER).mfa.list({})).factors;
  await app.as(EDSGER).mfa.remove({ id: factor?.id ?? 0 });
  await page.goto('/login/');
  await authenticator.setVerified(true);
  await button.click();
  await page.getByRole('alert').getByText(REFUSAL).waitFor();
  assert.is(await page.evaluate('document.activeElement.textContent'), SIGN_IN);
});

testAppearance(passkeys, {
  'login-with-passkeys': async (page) => {
    await page.goto('/login/');
    await page.getByRole('button', { name: SIGN_IN }).waitFor();
  },
  'login-passkey-failed': async (page) => {
    await page.goto('/login/');
    await page.getByRole('button', { name: SIGN_IN }).click();
    await page.getByRole('alert').getByText(NOT_USED).waitFor();
  },
  'login-code-or-passkey': async (page) => {
    await enterPassword(page, GRACE);
    await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
  },
  'login-passkey': async (page) => {
    await enterPassword(page, ADA);
    await waitForHeading(page, 'Use your passkey');
  },
});

passkeys.run();
