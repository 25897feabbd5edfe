import { browserSuite, fillLogin } from '../support/browser.ts';
import { testLooks, type Way } from '../support/screenshots.ts';
import { DEMO_PASSWORD, ROOT } from '../support/test-app.ts';

const browsable = browserSuite('browsable answers in a browser');

const atPath =
  (path: string): Way =>
  async (page) => {
    await page.goto(`/login/?${new URLSearchParams({ next: `/api/v1${path}` })}`);
    await fillLogin(page, ROOT, DEMO_PASSWORD);
    await page.locator('pre.json').waitFor();
  };

testLooks(browsable, {
  'api-user': atPath('/jb/users/ada@acme.test/'),
  'api-users': atPath('/jb/users/?app=sales'),
  'api-usage': atPath('/jb/apps/zylTKNVx/usage/?window=1'),
  'api-post-only': atPath('/app/load/sales/'),
  'api-unknown': atPath('/jb/users/nobody@acme.test/'),
  'api-login': (page) => page.goto('/api/v1/jb/apps/'),
});

browsable('are read and followed by keys alone', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await atPath('/jb/users/ada@acme.test/')(page, app);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.locator('#answer:focus').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/api/v1/jb/apps/zylTKNVx/');

  await page.getByText('"Sales"', { exact: true }).waitFor();
});

browsable.run();
