import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, REFUSED, waitForHeading } from '../support/browser.ts';
import { openConsole, waitForData } from '../support/console.ts';
import { AFTER_LOGOUT, BACKCHANNEL, CALLBACK, registerApp } from '../support/openid.ts';
import { addRows, valuesOf } from '../support/rows.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const openid = browserSuite('OpenID Connect in the console', REFUSED);

const TAB = `/console/apps/${SALES}?tab=openid`;

openid.after.each(async ({ app }) => {
  await app.db().deleteFrom('openid_logins').execute();
  await app.db().deleteFrom('openid_apps').execute();
});

/** An address that only a public app may have. */
const ON_A_DEVICE = 'com.acme.sales:/callback';

const settingsOf = (app: TestApp) => app.as(ROOT).openid.get({ app_id: SALES });

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

const openTab = async (page: Page, email = ACME) => {
  await openConsole(page, TAB, email);
  await page.getByRole('tab', { name: 'OpenID' }).waitFor();
  await waitForData(page);
};

/** A logout that is sent to the app. */
const addLogout = async (app: TestApp, email: string, result: object) => {
  const [user_id = 0] = await valuesOf(app, 'users', 'id', { email });
  const ended_at = app.clock.now();
  const started_at = new Date(ended_at.getTime() - DAY_MS);
  const of = {
    app_id: SALES,
    client_id: 1,
    user_id,
    subject: email,
    sid: email,
    signing_algorithm: 'RS256',
    started_at,
    check_at: ended_at,
  };
  await addRows(app, 'openid_logins', { ...of, ended_at, backchannel_logout_uri: BACKCHANNEL, ...result });
};

openid(
  'a client admin sets an app up, corrects an address, and sees the secret once',
  async ({ app, page }) => {
    await openTab(page);
    await page.getByText('Apps that support OpenID Connect').waitFor();
    await press(page, 'Set up');
    await page.getByLabel('Redirect address 1', { exact: true }).fill(CALLBACK);
    await press(page, 'Add redirect address');
    await press(page, 'Add redirect address');
    await page.getByLabel('Redirect address 3', { exact: true }).fill('/oauth/callback');
    await press(page, 'Add address after logout');
    await page.getByLabel('Address after logout 1', { exact: true }).fill(AFTER_LOGOUT);
    await page.getByLabel('Back-channel logout address').fill(BACKCHANNEL);
    await page.getByRole('checkbox', { name: 'Data permissions' }).uncheck();
    await page.locator('form').getByRole('button', { name: 'Set up' }).click();
    const wrong = page
      .getByLabel('Redirect address 2', { exact: true })
      .and(page.locator('[aria-invalid=true]'));
    await wrong.waitFor();
    await page.getByText('Must be an absolute address').waitFor();
    await page.getByRole('button', { name: 'Advanced' }).click();
    await assertLooksGood(page, 'console-openid-form');
    await press(page, 'Remove redirect address 2');
    await page.locator('form').getByRole('button', { name: 'Set up' }).click();
    await page.getByText('OpenID Connect was set up.').waitFor();
    const needs = page.getByRole('region', { name: 'What the app needs' });
    await press(page, 'New secret');
    const secret = await needs.getByLabel('Client secret').inputValue();
    await needs.getByText('Copy the secret now.').waitFor();
    await assertLooksGood(page, 'console-openid-secret');

    const settings = await settingsOf(app);
    assert.equal(settings.redirect_uris, [CALLBACK]);
    assert.equal(settings.post_logout_redirect_uris, [AFTER_LOGOUT]);
    assert.is(settings.backchannel_logout_uri, BACKCHANNEL);
    assert.not(settings.claims.includes('data_permissions'));
    assert.is(await needs.getByLabel('Client ID').inputValue(), settings.client_id);
    assert.is(
      await needs.getByLabel('Discovery address').inputValue(),
      `${settings.issuer}/.well-known/openid-configuration`,
    );
    assert.ok(secret.length > 30);
    await page.reload();
    await needs.getByLabel('Client ID').waitFor();
    assert.is(await needs.getByLabel('Client secret').count(), 0);
  },
);

openid(
  'a new secret is made after a question, and the previous one works for a day',
  async ({ app, page }) => {
    const { secret } = await registerApp(app);
    await openTab(page);
    await press(page, 'New secret');
    const dialog = page.getByRole('dialog', { name: 'Make a new secret?' });
    await dialog.getByRole('button', { name: 'Make it' }).click();
    const made = await page.getByLabel('Client secret').inputValue();
    await page.getByText('The previous secret works until 22 Nov 2026').waitFor();

    assert.is.not(made, secret);
    assert.ok((await settingsOf(app)).previous_until);
  },
);

openid('settings are changed, and a public app loses its secret', async ({ app, page }) => {
  await registerApp(app, { claims: ['email'] });
  await openTab(page);
  await page.getByLabel('Redirect address 1', { exact: true }).fill(ON_A_DEVICE);
  await press(page, 'Save settings');
  await page.getByRole('alert').filter({ hasText: 'Only a public app may have an address' }).waitFor();
  await page.getByRole('switch', { name: 'Public app' }).check();
  await page.getByText('When you save, the secret of the app stops working.').waitFor();
  await page.getByRole('checkbox', { name: 'Groups' }).check();
  await page.getByRole('button', { name: 'Advanced' }).click();
  await page.getByRole('radio', { name: /^ES256/ }).check();
  await press(page, 'Save settings');
  await page.getByText('A public app has no secret').waitFor();
  await page.getByText('Saved.').waitFor();

  const { is_public, claims, signing_algorithm, has_secret } = await settingsOf(app);
  assert.equal(
    [is_public, claims, signing_algorithm, has_secret],
    [true, ['email', 'groups'], 'ES256', false],
  );
});

openid('the logouts sent to the app are listed with their results', async ({ app, page }) => {
  await registerApp(app, { backchannel_logout_uri: BACKCHANNEL });
  const at = app.clock.now();
  const next_attempt_at = new Date(at.getTime() + 5 * MINUTE_MS);
  await addLogout(app, ADA, { attempts: 1, status: 200, delivered_at: at });
  await addLogout(app, GRACE, { attempts: 1, status: 400, failed_at: at });
  await addLogout(app, ACME, { attempts: 2, error: 'connect ECONNREFUSED', next_attempt_at });
  await openTab(page);
  const rowOf = (email: string) => page.getByRole('row').filter({ hasText: email });
  await rowOf(ADA).getByText('Delivered', { exact: true }).waitFor();
  await rowOf(GRACE).getByText('Failed').waitFor();
  await rowOf(GRACE).getByText('400').waitFor();
  await rowOf(ACME).getByText('Waiting').waitFor();
  await rowOf(ACME).getByText('connect ECONNREFUSED').waitFor();
  await assertLooksGood(page, 'console-openid');
});

openid('it is removed after a question and the password', async ({ app, browser, page }) => {
  await registerApp(app);
  await openTab(page);
  await browser.advance(16 * MINUTE_MS);
  await press(page, 'Remove…');
  const question = page.getByRole('dialog', { name: 'Remove OpenID Connect?' });
  await question.getByText('All logins to Sales end').waitFor();
  await question.getByRole('button', { name: 'Remove' }).click();
  await page.getByLabel('Password', { exact: true }).fill(DEMO_PASSWORD);
  await press(page, 'Confirm');
  await page.getByText('The OpenID settings were removed.').waitFor();
  await page.getByRole('button', { name: 'Set up' }).waitFor();

  assert.equal(await valuesOf(app, 'openid_apps', 'app_id'), []);
  await assertLooksGood(page, 'console-openid-none');
});

openid('who may not change the app does not see its settings', async ({ app, page }) => {
  await registerApp(app);
  await openConsole(page, TAB, STAFF);
  await waitForHeading(page, 'Sales');
  await page.getByRole('tab', { name: 'Versions' }).waitFor();

  assert.is(await page.getByRole('tab', { name: 'OpenID' }).count(), 0);
});

openid.run();
