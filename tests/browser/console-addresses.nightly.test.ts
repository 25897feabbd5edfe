import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole } from '../support/console.ts';
import { mailedEmailToken } from '../support/mails.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, EDSGER, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const addresses = browserSuite('profiles and addresses in the console', /status of 4|ERR_/);

const logIn = async (app: TestApp, email: string): Promise<number> => {
  const payload = { username: email, password: DEMO_PASSWORD };
  return (await app.send('POST /session/', { payload })).statusCode;
};

/** Gives a person of the demo their address back, and the password, which a change by a superuser ends. */
const restore = async (app: TestApp, present: string, email: string): Promise<void> => {
  await app.as(ROOT).users.changeEmail({ email: present, new_email: email });
  await sql`
    update users set password_hash = other.password_hash from users other
    where users.email = ${email} and other.email = ${ROOT}`.execute(app.db());
};

const openDialog = async (page: Page, as: string, email: string, name: string) => {
  await openConsole(page, `/console/people/${email}`, as);
  await waitForHeading(page, name);
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Change the address' }).click();
  return page.getByRole('dialog', { name: `Change the address of ${email}` });
};

testAppearance(addresses, {
  'console-change-address': async (page) => {
    const dialog = await openDialog(page, ROOT, ADA, 'Ada Lovelace');
    await dialog.getByText('This takes effect at once').waitFor();
  },
  'console-address-requested': async (page) => {
    await openConsole(page, '/console/account', EDSGER);
    await page.getByLabel('New email address').fill('ewd@globex.test');
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.getByText('The change to ewd@globex.test is not confirmed yet').waitFor();
  },
});

addresses('are changed by the person, who confirms in the new mailbox', async ({ app, browser, page }) => {
  const to = 'grace.hopper@acme.test';
  await openConsole(page, '/console/account', GRACE);
  await waitForHeading(page, 'Account');
  await browser.advance(16 * MINUTE_MS);
  await page.getByLabel('New email address').fill(to);
  await page.getByRole('button', { name: 'Send the link' }).click();
  const prompt = page.getByRole('dialog', { name: 'Confirm your password' });
  await prompt.getByLabel('Password', { exact: true }).fill(DEMO_PASSWORD);
  await prompt.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText(`The change to ${to} is not confirmed yet`).waitFor();
  assert.is(await logIn(app, GRACE), 200, 'nothing changes before the confirmation');

  await page.goto(`/email/confirm/?token=${await mailedEmailToken(app, to, 'confirm')}`);
  await page.getByRole('button', { name: 'Confirm the address' }).click();
  await waitForHeading(page, 'Email address changed');
  assert.is(await logIn(app, to), 200);
  await restore(app, to, GRACE);
});

addresses('that wait for a confirmation are shown, and cancelled by the person', async ({ app, page }) => {
  await app.as(GRACE).profile.requestEmail({ email: 'grace.h@acme.test' });
  await openConsole(page, '/console/account', GRACE);
  await page.getByRole('status').getByText('The change to grace.h@acme.test is not confirmed yet').waitFor();
  await page.getByRole('button', { name: 'Cancel the change' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the change' }).click();
  await page.getByText('The change to grace.h@acme.test').waitFor({ state: 'detached' });

  assert.is((await app.as(GRACE).profile.pendingEmail()).pending, null);
});

addresses('of a person are changed by a superuser at once', async ({ app, page }) => {
  const to = 'ada.king@acme.test';
  const dialog = await openDialog(page, ROOT, ADA, 'Ada Lovelace');
  await dialog.getByLabel('New email address').fill(to);
  await dialog.getByRole('button', { name: 'Change the address' }).click();
  await page.getByText(`The address is now ${to}.`).waitFor();
  await page.waitForURL(/people\/ada\.king/);
  await page.getByText(to, { exact: true }).first().waitFor();

  assert.is(await logIn(app, to), 400, 'the holder of the old mailbox knows the password');
  await restore(app, to, ADA);
});

addresses('stand beside a name and a color, which people change themselves', async ({ app, page }) => {
  await openConsole(page, '/console/account', GRACE);
  const form = page.getByRole('form', { name: 'Profile' });
  assert.is(await form.getByLabel('Picture').inputValue(), '');
  await form.getByLabel('First name').fill('Amazing');
  await form.getByLabel('Color').fill('#2a9d8f');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  assert.ok(await form.getByRole('button', { name: 'Save' }).isDisabled());
  const user = await app.as(ACME).users.get({ email: GRACE });
  assert.equal([user.first_name, user.last_name, user.profile_color], ['Amazing', 'Hopper', '2a9d8f']);

  await form.getByLabel('Picture').fill('http://pictures.test/grace.png');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Must be an https:// URL.').waitFor();
});

addresses.run();
