import { once } from 'node:events';
import { createServer } from 'node:http';
import * as assert from 'uvu/assert';
import { createView, setApp, viewOf } from '../support/access-views.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';

const views = browserSuite('access views in Chromium');

/** Another site, with a link that browsers prefetch or prerender, and the app that it opens. */
const startPortal = async (url: string, kind: string) => {
  const rules = JSON.stringify({ [kind]: [{ urls: [url], eagerness: 'immediate' }] });
  const link = `<script type="speculationrules">${rules}</script><a href="${url}">Open</a>`;
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    const content = request.url?.startsWith('/app') ? '<h1>The app</h1>' : link;
    response.end(`<!doctype html><link rel="icon" href="data:,">${content}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : '';
  return { origin: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() };
};

for (const kind of ['prefetch', 'prerender'])
  views(`open the app for a person after a ${kind}, which is not a use`, async ({ app, page }) => {
    const { url, key } = await createView(app, { allowed_uses_cnt: 0 });
    await using portal = await startPortal(url, kind);
    await setApp(app, { launch_url: `${portal.origin}/app` });
    const prefetched = page.context().waitForEvent('response', (response) => response.url() === url);
    await page.goto(portal.origin);
    await prefetched;
    assert.is((await viewOf(app, key)).usages_cnt, 0);

    await page.getByRole('link', { name: 'Open' }).click();
    await waitForHeading(page, 'The app');
    assert.is((await viewOf(app, key)).usages_cnt, 1);
  });

views.run();
