import * as assert from 'uvu/assert';
import { browserSuite } from '../support/browser.ts';
import { logInByForm, ORIGIN, openClient, openReference, sendRequest } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ADA } from '../support/test-app.ts';

const reference = browserSuite('API reference in Chromium');

reference('sends requests with the session, and none to other hosts', async ({ page }) => {
  const otherHosts: string[] = [];
  await page.route(
    (url) => url.origin !== ORIGIN,
    (route) => {
      otherHosts.push(route.request().url());
      return route.abort();
    },
  );
  await logInByForm(page);
  await openReference(page);
  await assertLooksGood(page, 'reference');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('invit');
  await page.getByRole('option').first().waitFor();
  await page.keyboard.press('Escape');
  await openClient(page);
  const request = await sendRequest(page);
  await page.getByText('200 OK').waitFor();
  await assertLooksGood(page, 'reference-try');
  assert.is((await request.allHeaders()).authorization, undefined);
  assert.is((await request.response())?.status(), 200);
  assert.equal(otherHosts, []);
  assert.is(await page.getByText('Ask AI').count(), 0);
  assert.is(await page.getByText('Open API Client').count(), 0);
});

reference('sends a token with its scheme, typed or not', async ({ app, page }) => {
  const token = await app.tokenOf(ADA);
  for (const typed of [token, `token  ${token} `]) {
    await openReference(page);
    await page.getByLabel('Value', { exact: true }).fill(typed);
    await openClient(page);
    const request = await sendRequest(page);
    assert.match((await request.allHeaders()).authorization ?? '', new RegExp(`^Token ${token}$`, 'i'));
    assert.is((await request.response())?.status(), 200);
  }
});

reference.run();
