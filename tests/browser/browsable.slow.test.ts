import { browserSuite, fillLogin } from '../support/browser.ts';
import { assertLooksGood, type Steps, testAppearance } from '../support/screenshots.ts';
import { DEMO_PASSWORD, ROOT } from '../support/test-app.ts';

const browsable = browserSuite('browsable API in Chromium');

const openPath =
  (path: string): Steps =>
  async (page) => {
    await page.goto(`/login/?${new URLSearchParams({ next: `/api/v1${path}` })}`);
    await fillLogin(page, ROOT, DEMO_PASSWORD);
    await page.locator('pre.json').waitFor();
  };

testAppearance(browsable, {
  'api-users': openPath('/jb/users/?app=sales'),
  'api-post-only': openPath('/app/load/sales/'),
  'api-unknown': openPath('/jb/users/unknown@acme.test/'),
  'api-login': (page) => page.goto('/api/v1/jb/apps/'),
});

browsable('can be read and followed with the keyboard alone', async ({ app, page }) => {
  await openPath('/jb/users/ada@acme.test/')(page, app);
  await assertLooksGood(page, 'api-user');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.locator('#response:focus').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/api/v1/jb/apps/zylTKNVx/');

  await page.getByText('"Sales"', { exact: true }).waitFor();
});

browsable.run();
