import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { browserSuite } from '../support/browser.ts';
import { openConsole, showing, waitForData } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { setFactorPolicy } from '../support/second-factors.ts';
import { ACME, ADA, STAFF } from '../support/test-app.ts';

const policies = browserSuite('policies for second factors in the console');

policies.before.each(async ({ app }) => {
  await sql`delete from mfa_factors`.execute(app.db());
  await setFactorPolicy(app, 1, { policy: 'off' });
  await sql`update clients set factor_policy_since = null, factor_grace_days = 14`.execute(app.db());
});

testAppearance(policies, {
  'console-client-sign-in': showing('/console/clients/1?tab=sign-in', 'Acme Analytics'),
});

policies('a client admin requires a second factor after a preview in words', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/clients/1?tab=sign-in', ACME);
  await page.getByRole('radio', { name: 'Required', exact: true }).check();
  await page.getByLabel('Days of grace').fill('7');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Require a second factor?' });
  await dialog.getByText('No one is locked out').waitFor();
  await dialog.getByText('Those without one get a mail now, and a reminder.').waitFor();
  assert.is((await app.as(ACME).clients.factorPolicy({ id: 1 })).factor_policy, 'off');
  await dialog.getByRole('button', { name: 'Require it' }).click();
  await page.getByText('Saved.').waitFor();

  const saved = await app.as(ACME).clients.factorPolicy({ id: 1 });
  assert.equal([saved.factor_policy, saved.factor_grace_days], ['required', 7]);
  await page.getByRole('status').getByText('You need a second factor from').waitFor();
});

policies(
  'a client admin requires a passkey, of which the preview says what it needs',
  async ({ app, browser }) => {
    await using visit = await browser.open();
    const { page } = visit;
    await openConsole(page, '/console/clients/1?tab=sign-in', ACME);
    await page.getByRole('radio', { name: 'A passkey is required' }).check();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Require a passkey?' });
    await dialog.getByText(/already have a passkey/).waitFor();
    await dialog.getByText('That needs a browser with JavaScript').waitFor();
    await dialog.getByRole('button', { name: 'Require it' }).click();
    await page.getByRole('status').getByText('You need a passkey from').waitFor();

    assert.is((await app.as(ACME).clients.factorPolicy({ id: 1 })).factor_policy, 'passkey');
  },
);

policies('an admin who has none is refused to require it at once', async ({ browser }) => {
  await using visit = await browser.open(/status of 400/);
  const { page } = visit;
  await openConsole(page, '/console/clients/1?tab=sign-in', ACME);
  await page.getByRole('radio', { name: 'Required', exact: true }).check();
  await page.getByLabel('Days of grace').fill('0');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'Require it' }).click();

  await page.getByText('You have no second factor yet').waitFor();
});

policies('staff read the policy', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/clients/1?tab=sign-in', STAFF);
  const form = page.getByRole('form', { name: 'Second factor' });
  await form.getByText('Client admins and superusers change this.').waitFor();

  assert.is(await form.getByRole('radio').count(), 0);
});

policies('the tab of a person says from when on they need one', async ({ app, browser }) => {
  await setFactorPolicy(app, 1, { policy: 'required', graceDays: 9 });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/people/${ADA}?tab=security`, ACME);
  await page.getByText(/None\. One is required from .* on\./).waitFor();
});

policies('the tab of a person says that they need a passkey', async ({ app, browser }) => {
  await setFactorPolicy(app, 1, { policy: 'passkey', graceDays: 9 });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, `/console/people/${ADA}?tab=security`, ACME);
  await page.getByText(/None\. A passkey is required from .* on\./).waitFor();
});

policies('fit a phone', async ({ app, browser }) => {
  await setFactorPolicy(app, 1, { policy: 'required', graceDays: 9 });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/clients/1?tab=sign-in', ACME);
  await page.setViewportSize({ width: 390, height: 844 });
  await waitForData(page);
  await page.getByRole('radio', { name: 'Required', exact: true }).waitFor();

  assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= 390);
});

policies.run();
