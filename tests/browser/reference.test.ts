import * as assert from 'uvu/assert';
import { browserSuite } from '../support/browser.ts';
import { logIn, ORIGIN, openReference, sendRequest, tryOut } from '../support/reference.ts';
import { ADA } from '../support/test-app.ts';

const reference = browserSuite('reference in a browser');

reference('asks this service and nobody else', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  const elsewhere: string[] = [];
  await page.route(
    (url) => url.origin !== ORIGIN,
    (route) => {
      elsewhere.push(route.request().url());
      return route.abort();
    },
  );
  await logIn(page);
  await openReference(page);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('invit');
  await page.getByRole('option').first().waitFor();
  await page.keyboard.press('Escape');
  await tryOut(page);
  await sendRequest(page);
  await page.getByText('200 OK').waitFor();

  assert.equal(elsewhere, []);
  assert.is(await page.getByText('Ask AI').count(), 0);
  assert.is(await page.getByText('Open API Client').count(), 0);
});

reference('sends the token with its scheme, whether or not that was typed', async ({ app, browser }) => {
  const token = await app.tokenOf(ADA);
  for (const typed of [token, `Token ${token}`, `token  ${token} `]) {
    await using visit = await browser.open();
    const { page } = visit;
    await openReference(page);
    await page.getByLabel('Value', { exact: true }).fill(typed);
    await tryOut(page);
    const request = await sendRequest(page);

    assert.match((await request.allHeaders()).authorization ?? '', new RegExp(`^Token ${token}$`, 'i'));
    assert.is((await request.response())?.status(), 200);
  }
});

reference(
  'sends no token where none is typed, so that the login of the browser counts',
  async ({ browser }) => {
    await using visit = await browser.open();
    const { page } = visit;
    await logIn(page);
    await tryOut(page);
    const request = await sendRequest(page);

    assert.is((await request.allHeaders()).authorization, undefined);
    assert.is((await request.response())?.status(), 200);
  },
);

reference.run();
