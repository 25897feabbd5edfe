import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, fillLogin, waitForHeading } from '../support/browser.ts';
import { addVirtualAuthenticator } from '../support/passkeys.ts';
import { testAppearance } from '../support/screenshots.ts';
import { setFactorPolicy } from '../support/second-factors.ts';
import { ADA, DEMO_PASSWORD, EDSGER, GRACE, type TestApp } from '../support/test-app.ts';

const policy = browserSuite('a policy that requires passkeys, in Chromium');

const demandPasskeys = (app: TestApp) => setFactorPolicy(app, 1, { policy: 'passkey', daysAgo: 1 });

policy.before.each(({ app }) => setFactorPolicy(app, 1, { policy: 'off' }));

const enterPassword = async (page: Page, email: string, path = '/login/'): Promise<void> => {
  await page.goto(path);
  await fillLogin(page, email, DEMO_PASSWORD);
};

const methodsOf = async (app: TestApp, email: string): Promise<string[] | undefined> => {
  const { rows } = await sql<{
    methods: string[];
  }>`select methods from sessions s join users u on u.id = s.user_id
    where u.email = ${email} order by s.id desc limit 1`.execute(app.db());
  return rows[0]?.methods;
};

policy('adds one at the login, by the keyboard, and then continues', async ({ app, page }) => {
  await demandPasskeys(app);
  const authenticator = await addVirtualAuthenticator(page);
  await authenticator.setVerified(false);
  await enterPassword(page, ADA, '/login/?next=/console/account');
  await waitForHeading(page, 'Add a passkey');
  // The button has the focus.
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('No passkey was created. Try again.').waitFor();
  await authenticator.setVerified(true);
  await page.keyboard.press('Enter');
  await waitForHeading(page, 'Save your recovery codes');
  assert.is(await page.locator('.codes li').count(), 10);
  await page.getByRole('link', { name: 'I have saved them: continue' }).click();
  await waitForHeading(page, 'Account');

  assert.equal(await methodsOf(app, ADA), ['pwd', 'hwk', 'mfa']);
});

testAppearance(policy, {
  'login-add-passkey': async (page, app) => {
    await sql`delete from mfa_factors`.execute(app.db());
    await demandPasskeys(app);
    await enterPassword(page, GRACE);
    await waitForHeading(page, 'Add a passkey');
  },
  'login-no-passkey': async (page) => {
    await enterPassword(page, EDSGER);
    await waitForHeading(page, 'Hello Edsger');
    await page.goto('/login/code/?next=/docs/&passkey=1');
    await waitForHeading(page, 'You need a passkey');
  },
});

policy.run();
