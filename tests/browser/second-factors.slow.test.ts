import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, fillLogin, LOST, waitForHeading } from '../support/browser.ts';
import { openConsole, waitForData } from '../support/console.ts';
import { OATHTOOL } from '../support/environment.ts';
import { testAppearance } from '../support/screenshots.ts';
import { enroll, WRONG_CODE } from '../support/second-factors.ts';
import { ADA, DEMO_PASSWORD, EDSGER, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const factors = browserSuite('second factors in Chromium', LOST);

const SET_UP = 'Set up an authenticator app';

/** What an authenticator app shows, by another implementation than the service's. */
const codeAt = (secret: string, now: Date): string =>
  execFileSync(OATHTOOL, ['--totp', '--base32', `--now=${now.toISOString()}`, secret], {
    encoding: 'utf8',
  }).trim();

/** What it shows half a minute later: the code of a step counts once. */
const nextCode = (app: TestApp, secret: string): string => {
  app.clock.advance(MINUTE_MS / 2);
  return codeAt(secret, app.clock.now());
};

factors.before(async ({ app }) => {
  await enroll(app, GRACE, 'Phone');
});

/** Enters the password, and waits for the form for the code. */
const enterPassword = async (page: Page, email: string, path = '/login/'): Promise<void> => {
  await page.goto(path);
  await fillLogin(page, email, DEMO_PASSWORD);
  await waitForHeading(page, 'Enter your code');
};

const enterCode = async (page: Page, code: string, label = 'Code'): Promise<void> => {
  await page.getByLabel(label, { exact: true }).fill(code);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
};

const openAccount = async (page: Page, email: string): Promise<void> => {
  await openConsole(page, '/console/account', email);
  await page.getByRole('heading', { name: 'Second factor' }).waitFor();
  await waitForData(page);
};

/** The secret of the dialog, and what an app with it shows. */
const enrolmentIn = async (page: Page, app: TestApp) => {
  const dialog = page.getByRole('dialog', { name: SET_UP });
  await dialog.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor();
  const secret = (await dialog.getByLabel('Secret').inputValue()).replaceAll(' ', '');
  return { dialog, secret, code: codeAt(secret, app.clock.now()) };
};

testAppearance(factors, {
  'login-code': async (page) => enterPassword(page, GRACE),
  'login-code-wrong': async (page) => {
    await enterPassword(page, GRACE);
    await enterCode(page, WRONG_CODE);
    await page.getByRole('alert').waitFor();
  },
  'login-recovery-code': async (page) => {
    await enterPassword(page, GRACE);
    await page.getByRole('link', { name: 'Use a recovery code' }).click();
    await waitForHeading(page, 'Enter a recovery code');
  },
  'console-account-set-up': async (page, app) => {
    await openAccount(page, STAFF);
    await page.getByRole('button', { name: SET_UP }).click();
    await enrolmentIn(page, app);
  },
  'console-account-recovery-codes': async (page, app) => {
    await openAccount(page, EDSGER);
    await page.getByRole('button', { name: SET_UP }).click();
    const { dialog, code } = await enrolmentIn(page, app);
    await dialog.getByLabel('Code', { exact: true }).fill(code);
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await dialog.getByRole('list', { name: 'Recovery codes' }).waitFor();
  },
  'console-person-second-factor': async (page) => {
    await openConsole(page, `/console/people/${GRACE}?tab=security`);
    await page.getByText('10 recovery codes are left.').waitFor();
    await page.getByText('Password, second factor').waitFor();
    await waitForData(page);
  },
  'console-person-reset-factor': async (page) => {
    await openConsole(page, `/console/people/${GRACE}?tab=security`);
    await page.getByRole('button', { name: 'Reset second factor' }).click();
    await page.getByRole('dialog').getByLabel('Reason').waitFor();
  },
});

factors('is set up, asked for at the next login, and replaced by a recovery code', async ({ app, page }) => {
  await openAccount(page, ADA);
  await page.getByRole('button', { name: SET_UP }).click();
  const { dialog, secret, code } = await enrolmentIn(page, app);
  await dialog.getByLabel('Code', { exact: true }).fill(code);
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  const list = dialog.getByRole('list', { name: 'Recovery codes' });
  await list.waitFor();
  const codes = await list.getByRole('listitem').allInnerTexts();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'Download' }).click(),
  ]);
  const saved = await readFile(await download.path(), 'utf8');
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByText('10 recovery codes are left.').waitFor();
  assert.is(codes.length, 10);
  assert.is(saved, `${codes.join('\n')}\n`);

  await page.goto('/');
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await enterPassword(page, ADA, '/login/?next=/console/account');
  await enterCode(page, nextCode(app, secret));
  await waitForHeading(page, 'Account');
  await page.getByText(/^Authenticator app since .*, last used/).waitFor();

  await page.goto('/');
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await enterPassword(page, ADA);
  await page.getByRole('link', { name: 'Use a recovery code' }).click();
  await enterCode(page, codes[3] ?? '', 'Recovery code');
  await waitForHeading(page, 'Hello Ada');
  assert.is((await app.as(ADA).mfa.list({})).recovery_codes, 9);
});

factors('of a person is reset in the console, with a reason', async ({ app, page }) => {
  const email = 'lost-phone@acme.test';
  await app.as(ROOT).users.create({ email, client: 1 });
  await enroll(app, email, 'Lost phone');
  await openConsole(page, `/console/people/${email}?tab=security`, ROOT);
  await page.getByText('Lost phone').waitFor();
  await page.getByRole('button', { name: 'Reset second factor' }).click();
  const dialog = page.getByRole('dialog', { name: `Reset the second factor of ${email}?` });
  await dialog.getByLabel('Reason').fill('Phone was stolen');
  await dialog.getByRole('button', { name: 'Reset' }).click();
  await page.getByText('None. Logging in takes only a password.').waitFor();
  const [entry] = await app.as(ROOT).audit.list({ target: email, action: 'mfa.reset' });

  assert.equal(entry?.details, { reason: 'Phone was stolen' });
});

factors.run();
