import type { Page } from 'playwright-core';
import { fillLogin, launchChromium, openTab, waitForHeading } from '../support/browser.ts';
import { makeDemoDir } from '../support/demo-data.ts';
import { startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';

const PASSWORD = 'steward-demo-1';

const start = async (started: AsyncDisposableStack) => {
  const folder = started.use(await makeDemoDir());
  const service = started.use(await startService('demo', { DATA_DIR: folder.path }));
  const browser = await launchChromium();
  started.defer(() => browser.close());
  return { service, browser };
};
type Context = Awaited<ReturnType<typeof start>>;

const demoApps = suiteWith('the apps of the demo, in a browser', start);

/** Opens a path in a fresh profile and logs in. */
const openAs = async ({ browser, service }: Context, email: string, path: string): Promise<Page> => {
  const page = await openTab(browser);
  await page.goto(service.address + path);
  await fillLogin(page, email, PASSWORD);
  return page;
};

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
