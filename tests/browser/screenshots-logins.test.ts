import { browserSuite, fillLogin, waitForHeading } from '../support/browser.ts';
import { mailedPasswordPath } from '../support/mails.ts';
import { type Steps, testAppearance } from '../support/screenshots.ts';
import { ADA, DEMO_PASSWORD, GRACE } from '../support/test-app.ts';

const appearance = browserSuite('appearance of login and password pages');

const logIn: Steps = async (page) => {
  await page.goto('/login/');
  await fillLogin(page, ADA, DEMO_PASSWORD);
  await waitForHeading(page, 'Hello Ada');
  // Leaving the page while an avatar is loading would fail its request.
  await page.waitForLoadState();
};
const requestReset: Steps = async (page) => {
  await page.goto('/password/reset/');
  await page.getByLabel('Email address').fill(GRACE);
  await page.getByRole('button').click();
  await waitForHeading(page, 'Check your email');
};

testAppearance(appearance, {
  login: (page) => page.goto('/login/'),
  'login-wrong': async (page) => {
    await page.goto('/login/');
    await fillLogin(page, ADA, 'wrong');
    await page.getByRole('alert').waitFor();
  },
  'reset-ask': (page) => page.goto('/password/reset/'),
  'reset-sent': requestReset,
  'reset-form': async (page, app) => {
    await requestReset(page, app);
    await page.goto(await mailedPasswordPath(app, GRACE));
  },
  'reset-done': async (page, app) => {
    await requestReset(page, app);
    await page.goto(await mailedPasswordPath(app, GRACE));
    await page.getByLabel('New password').fill('a fine new one');
    await page.getByRole('button').click();
    await waitForHeading(page, 'Password changed');
  },
  'reset-invalid': (page) => page.goto('/password/reset/?token=1.x'),
  home: async (page, app) => {
    await logIn(page, app);
    await page.context().clearCookies();
    await logIn(page, app);
  },
  'password-change': async (page, app) => {
    await logIn(page, app);
    await page.goto('/password/change/');
  },
  'password-expired': async (page, app) => {
    const expiredSince = new Date('2020-01-01');
    await app.db().updateTable('clients').set({ password_expiration_days: 10 }).where('id', '=', 1).execute();
    await app
      .db()
      .updateTable('users')
      .set({ last_password_set: expiredSince })
      .where('email', '=', GRACE)
      .execute();
    await page.goto('/login/');
    await fillLogin(page, GRACE, 'a fine new one');
    await waitForHeading(page, 'Your password has expired');
  },
});

appearance.run();
