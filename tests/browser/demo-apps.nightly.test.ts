import type { Browser, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { fillLogin, launchChromium, openTab, waitForHeading } from '../support/browser.ts';
import { makeDemoDir } from '../support/demo-data.ts';
import { type Service, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';

const PASSWORD = 'steward-demo-1';

type Context = { closing: AsyncDisposableStack; service: Service; browser: Browser };

const demoApps = suite<Context>('the apps of the demo, in a browser');

demoApps.before(async (context) => {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await makeDemoDir());
  context.service = started.use(await startService('demo', { DATA_DIR: folder.path }));
  context.browser = await launchChromium();
  started.defer(() => context.browser.close());
  context.closing = started.move();
});
demoApps.after(({ closing }) => closing?.disposeAsync());

/** Opens a path in a fresh profile and logs in. */
const openAs = async ({ browser, service }: Context, email: string, path: string): Promise<Page> => {
  const page = await openTab(browser);
  await page.goto(service.address + path);
  await fillLogin(page, email, PASSWORD);
  return page;
};

const rowsOf = async (page: Page): Promise<string[]> => page.locator('tbody tr').allTextContents();

demoApps('show two people different rows of the same app, also after a reload', async (context) => {
  const ada = await openAs(context, 'ada@acme.test', '/launch/sales/');
  await waitForHeading(ada, 'Hello, Ada Lovelace');
  assert.is(ada.url(), `${context.service.address}/demo-apps/sales/`, 'without the code');
  await ada.reload();
  await waitForHeading(ada, 'Hello, Ada Lovelace');
  const grace = await openAs(context, 'grace@acme.test', '/launch/sales/');
  await waitForHeading(grace, 'Hello, Grace Hopper');

  const regions = async (page: Page) => [
    ...new Set((await rowsOf(page)).map((row) => /^[A-Z][a-z]+?(?=[A-Z])/.exec(row)?.[0])),
  ];
  assert.equal(await regions(ada), ['North', 'West']);
  assert.equal(await regions(grace), ['South']);
  for (const page of [ada, grace]) await page.context().close();
});

demoApps('open from the list of apps on the home page of a user', async (context) => {
  const page = await openAs(context, 'edsger@globex.test', '/login/');
  await page.getByRole('link', { name: 'Fleet' }).first().click();

  await waitForHeading(page, 'Hello, Edsger Dijkstra');
  await page.getByText('What the ticket says').click();
  await page.getByText('"email": "edsger@globex.test"').waitFor();
  await page.context().close();
});

demoApps('lead to Steward if the browser has no session', async (context) => {
  const page = await openTab(context.browser);
  await page.goto(`${context.service.address}/demo-apps/sales/`);
  await page.getByRole('link', { name: 'Open it again' }).click();
  await fillLogin(page, 'grace@acme.test', PASSWORD);

  await waitForHeading(page, 'Hello, Grace Hopper');
  await page.context().close();
});

demoApps.run();
