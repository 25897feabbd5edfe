import { browserSuite, fillLogin, seesHeading } from '../support/browser.ts';
import { mailedPasswordPath } from '../support/mailed-links.ts';
import { testLooks, type Way } from '../support/screenshots.ts';
import { ADA, DEMO_PASSWORD, GRACE } from '../support/test-app.ts';

const looks = browserSuite('looks of logins and passwords');

const loggedIn: Way = async (page) => {
  await page.goto('/login/');
  await fillLogin(page, ADA, DEMO_PASSWORD);
  await seesHeading(page, 'Hello Ada');
  // An avatar that is still on its way when the page is left would count as failed.
  await page.waitForLoadState();
};
const asked: Way = async (page) => {
  await page.goto('/password/reset/');
  await page.getByLabel('Email address').fill(GRACE);
  await page.getByRole('button').click();
  await seesHeading(page, 'Look into your mailbox');
};

testLooks(looks, {
  login: (page) => page.goto('/login/'),
  'login-wrong': async (page) => {
    await page.goto('/login/');
    await fillLogin(page, ADA, 'wrong');
    await page.getByRole('alert').waitFor();
  },
  'reset-ask': (page) => page.goto('/password/reset/'),
  'reset-sent': asked,
  'reset-form': async (page, app) => {
    await asked(page, app);
    await page.goto(await mailedPasswordPath(app, GRACE));
  },
  'reset-done': async (page, app) => {
    await asked(page, app);
    await page.goto(await mailedPasswordPath(app, GRACE));
    await page.getByLabel('New password').fill('a fine new one');
    await page.getByRole('button').click();
    await seesHeading(page, 'Your new password is set');
  },
  'reset-dead': (page) => page.goto('/password/reset/?token=1.x'),
  home: async (page, app) => {
    await loggedIn(page, app);
    await page.context().clearCookies();
    await loggedIn(page, app);
  },
  'password-change': async (page, app) => {
    await loggedIn(page, app);
    await page.goto('/password/change/');
  },
  'password-expired': async (page, app) => {
    const longAgo = new Date('2020-01-01');
    await app.db().updateTable('clients').set({ password_expiration_days: 10 }).where('id', '=', 1).execute();
    await app
      .db()
      .updateTable('users')
      .set({ last_password_set: longAgo })
      .where('email', '=', GRACE)
      .execute();
    await page.goto('/login/');
    await fillLogin(page, GRACE, 'a fine new one');
    await seesHeading(page, 'Time for a new password');
  },
});

looks.run();
