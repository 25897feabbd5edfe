import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, REFUSED } from '../support/browser.ts';
import { openConsole, waitForData } from '../support/console.ts';
import { addVirtualAuthenticator, disableConditionalUi, enrollPasskey } from '../support/passkeys.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ADA, EDSGER, GRACE, type TestApp } from '../support/test-app.ts';

const passkeys = browserSuite('passkeys in the console', REFUSED);

const ADD = 'Add a passkey';

const openAccount = async (page: Page, email: string): Promise<void> => {
  await openConsole(page, '/console/account', email);
  await page.getByRole('heading', { name: 'Second factor' }).waitFor();
  await waitForData(page);
};

/** Sessions of before the passkey stay logged in. */
const openWithPasskey = async (page: Page, app: TestApp): Promise<void> => {
  await sql`delete from mfa_factors`.execute(app.db());
  await openAccount(page, GRACE);
  await enrollPasskey(app, GRACE, 'A key with a rather long name, in the drawer');
  await page.reload();
  await page.getByText('in the drawer').waitFor();
  await waitForData(page);
};

const openDialog = async (page: Page) => {
  await page.getByRole('button', { name: ADD }).click();
  const dialog = page.getByRole('dialog', { name: ADD });
  await dialog.getByLabel('Name').waitFor();
  return dialog;
};

passkeys('are added, log in alone, confirm, and are removed', async ({ app, browser, page }) => {
  const authenticator = await addVirtualAuthenticator(page);
  await disableConditionalUi(page);
  await openAccount(page, ADA);
  const dialog = await openDialog(page);
  assert.match(await dialog.getByLabel('Name').inputValue(), /^Chrome \d+ on Linux$/);
  await dialog.getByLabel('Name').fill('Work laptop');
  await page.keyboard.press('Enter');
  const list = dialog.getByRole('list', { name: 'Recovery codes' });
  await list.waitFor();
  const codes = await list.getByRole('listitem').allInnerTexts();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByText('Work laptop').waitFor();
  await page.getByText(/^Passkey since .*, not used yet$/).waitFor();
  assert.is(codes.length, 10);

  await page.goto('/');
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await page.goto('/login/?next=/console/account');
  await page.getByRole('button', { name: 'Log in with a passkey' }).click();
  await page.getByText(/^Passkey since .*, last used/).waitFor();

  await browser.advance(16 * MINUTE_MS);
  await page.getByRole('button', { name: 'Remove Work laptop' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  const prompt = page.getByRole('dialog', { name: 'Confirm with your passkey' });
  await authenticator.setVerified(false);
  await prompt.getByRole('button', { name: 'Use your passkey' }).click();
  await prompt.getByText('No passkey was used. Try again.').waitFor();
  await authenticator.setVerified(true);
  await prompt.getByRole('button', { name: 'Use your passkey' }).click();
  await page.getByText('Second factor removed.').waitFor();
  assert.equal(await app.as(ADA).mfa.list({}), { factors: [], recovery_codes: 0 });
});

testAppearance(passkeys, {
  'console-account-add-passkey': async (page) => {
    await openAccount(page, EDSGER);
    await openDialog(page);
  },
  'console-account-passkeys': async (page, app) => {
    await openWithPasskey(page, app);
  },
  'console-confirm-with-passkey': async (page, app) => {
    await openWithPasskey(page, app);
    app.clock.advance(16 * MINUTE_MS);
    await page.getByRole('button', { name: 'New recovery codes' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog', { name: 'Confirm with your passkey' }).waitFor();
    await page.getByRole('button', { name: 'Use your passkey' }).waitFor();
  },
  'console-person-passkey': async (page) => {
    await openConsole(page, `/console/people/${GRACE}?tab=security`);
    await page.getByText('Password, passkey').waitFor();
    await waitForData(page);
  },
});

passkeys.run();
