import { createServer } from 'node:http';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { browserSuite, fillLogin, logIn, waitForHeading } from '../support/browser.ts';
import { mailedPasswordPath } from '../support/mails.ts';
import { setRows } from '../support/rows.ts';
import { assertLooksGood, testAppearance } from '../support/screenshots.ts';
import { ADA, DEMO_PASSWORD, EDSGER, GRACE } from '../support/test-app.ts';

const login = browserSuite('login and password pages in Chromium');

const NEW = 'a fine new one';

login('logs in, shows the home page and logs out', async ({ page }) => {
  await page.goto('/');
  await assertLooksGood(page, 'login');
  await fillLogin(page, ADA, 'wrong');
  await page.getByRole('alert').waitFor();
  await assertLooksGood(page, 'login-wrong');
  assert.is(await page.getByLabel('Email address').inputValue(), ADA);

  await fillLogin(page, ADA, DEMO_PASSWORD);
  await waitForHeading(page, 'Hello Ada');
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await waitForHeading(page, 'Welcome to Acme Analytics');
  assert.not.ok((await page.context().cookies()).some(({ name }) => name === 'steward_session'));
});

login('follows redirects to a home on another host', async ({ app, page }) => {
  const otherHost = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    if (request.url === '/arrived') return response.end('<link rel="icon" href="data:,"><h1>Arrived</h1>');
    const { port } = new URL(`http://${request.headers.host}`);
    return response.writeHead(302, { location: `http://localhost:${port}/arrived` }).end();
  });
  await new Promise<void>((resolve) => {
    otherHost.listen(0, '127.0.0.1', resolve);
  });
  const address = otherHost.address();
  const home = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
  const setHome = (home_location: string) => setRows(app, 'clients', { id: 1 }, { home_location });
  await setHome(home);
  try {
    await page.goto('/login/');
    await fillLogin(page, ADA, DEMO_PASSWORD);
    await waitForHeading(page, 'Arrived');
  } finally {
    otherHost.closeAllConnections();
    otherHost.close();
    await setHome('');
  }
});

login('sets a new password once by a mailed link, and the new password logs in', async ({ app, page }) => {
  await page.goto('/login/');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await assertLooksGood(page, 'reset-ask');
  await page.getByLabel('Email address').fill(GRACE);
  await page.getByRole('button', { name: 'Send reset link' }).click();
  await waitForHeading(page, 'Check your email');
  await assertLooksGood(page, 'reset-sent');
  const path = await mailedPasswordPath(app, GRACE);

  await page.goto(path);
  await page.getByLabel('New password').fill('grace');
  await page.getByRole('button', { name: 'Set password' }).click();
  await page.getByText('Choose a password that meets all requirements.').waitFor();
  await assertLooksGood(page, 'reset-form');
  assert.is(new URL(page.url()).search, '', 'the token must not stay in the URL');
  await page.getByLabel('New password').fill(NEW);
  await page.getByRole('button', { name: 'Set password' }).click();
  await waitForHeading(page, 'Password changed');
  await assertLooksGood(page, 'reset-done');
  await page.getByRole('link', { name: 'Log in' }).click();
  await fillLogin(page, GRACE, NEW);
  await waitForHeading(page, 'Hello Grace');

  await page.context().clearCookies();
  await page.goto(path);
  await waitForHeading(page, 'This link is no longer valid');
  await assertLooksGood(page, 'reset-invalid');
});

testAppearance(login, {
  home: async (page) => {
    await logIn(page, ADA);
    await logIn(page, ADA);
    await page.goto('/');
    await page
      .getByRole('button', { name: /^Log out Chrome on Linux/ })
      .first()
      .waitFor();
  },
  'password-change': async (page) => {
    await logIn(page, ADA);
    await page.goto('/password/change/');
  },
  'password-expired': async (page, app) => {
    await setRows(app, 'clients', { id: 2 }, { password_expiration_days: 30 });
    app.clock.advance(31 * DAY_MS);
    await page.goto('http://globex.localhost:8000/login/');
    await fillLogin(page, EDSGER, DEMO_PASSWORD);
    await waitForHeading(page, 'Your password has expired');
  },
});

login.run();
