import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { fillLogin, launchChromium, openTab } from '../support/browser.ts';
import { chooseFromMenu } from '../support/console.ts';
import { GATE_PROXIES, type GateProxy, startGateProxy } from '../support/proxies.ts';
import { setRows } from '../support/rows.ts';
import { suiteWith } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { ACME, DEMO_PASSWORD, GRACE, startTestApp, type TestApp } from '../support/test-app.ts';

const MINUTES = 10;

/** An app that heeds the headers of its proxy: it says who looks as whom, and refuses changes meanwhile. */
const startApp = async (port: number) => {
  const server = createServer(({ method, headers }, response) => {
    const isReadOnly = headers['x-steward-read-only'] === 'true';
    if (method !== 'GET') return void response.writeHead(isReadOnly ? 403 : 200).end();
    const [actor, user] = [headers['x-steward-actor'], headers['x-steward-user']];
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(
      isReadOnly
        ? `<p role="status">${actor} is looking as ${user} — read-only</p>`
        : `<p>Hello, ${user}</p>`,
    );
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { [Symbol.asyncDispose]: async () => void server.close() };
};

/** The service, an app, each proxy in front of it, and a browser. */
const start = async (started: AsyncDisposableStack) => {
  const [service, app] = [await freePort(), await freePort()];
  const ports = { nginx: await freePort(), haproxy: await freePort(), caddy: await freePort() };
  const steward = await startTestApp({
    BASE_URL: `http://localhost:${service}`,
    APP_URL: `http://localhost:${ports.nginx}/{slug}/`,
  });
  started.defer(steward.close);
  await steward.server.listen({ port: service, host: '127.0.0.1' });
  started.use(await startApp(app));
  for (const name of GATE_PROXIES)
    started.use(await startGateProxy(name, { proxy: ports[name], service, app }));
  const browser = await launchChromium();
  started.defer(() => browser.close());
  return { steward, browser, ports };
};

type Context = Awaited<ReturnType<typeof start>>;
const looks = suiteWith('a look at an app as someone, through a proxy', start);

/** A browser in which the admin of Acme has begun to look at Sales as Grace, in the console. */
const openLook = async ({ browser, steward }: Context): Promise<Page> => {
  const page = await openTab(browser);
  await page.goto(`${steward.config.baseUrl}/login/?next=/console/people/${GRACE}`);
  await fillLogin(page, ACME, DEMO_PASSWORD);
  await chooseFromMenu(page, 'View an app as Grace Hopper…');
  await page.getByLabel('Reason').fill('Ticket 4711');
  await page.getByLabel('Minutes').fill(String(MINUTES));
  await page.getByRole('button', { name: 'View as' }).click();
  const link = page.getByRole('link', { name: 'Open Sales as Grace Hopper' });
  await page.goto((await link.getAttribute('href')) ?? '');
  return page;
};

const BANNER = `${ACME} is looking as ${GRACE} — read-only`;

/** What the proxy responds when the page changes something. */
const statusOfChange = (page: Page): Promise<number> =>
  page.evaluate("fetch(location.href, { method: 'POST' }).then(({ status }) => status)");

type End = (steward: TestApp, page: Page) => Promise<unknown>;
const setActive = (steward: TestApp, email: string, is_active: boolean) =>
  setRows(steward, 'users', { email }, { is_active });

/** What ends a look. */
const ENDS: Record<string, End> = {
  'by the clock': async (steward) => steward.clock.advance(MINUTES * 60_000),
  'by the button of the launch page': async (steward, page) => {
    await page.goto(`${steward.config.baseUrl}/launch/sales/`);
    await page.getByText(`${ACME} is looking at Sales as ${GRACE}`).waitFor();
    await page.getByRole('button', { name: 'Stop viewing' }).click();
    await page.getByRole('heading', { name: 'Viewing has ended' }).waitFor();
  },
  'with the account of the person': (steward) => setActive(steward, GRACE, false),
  'with the account of the person who looks': (steward) => setActive(steward, ACME, false),
};

for (const name of GATE_PROXIES)
  for (const [how, end] of Object.entries(ENDS))
    looks(`${name} shows the app read-only, until the look ends ${how}`, async (context) => {
      const { steward, ports } = context;
      const page = await openLook(context);
      const address = `http://localhost:${ports[name satisfies GateProxy]}/sales/`;
      await page.goto(address);

      assert.is(await page.getByRole('status').textContent(), BANNER);
      assert.is(await statusOfChange(page), 403);
      await end(steward, page);
      assert.is((await page.goto(address))?.status(), 403);
      for (const email of [ACME, GRACE]) await setActive(steward, email, true);
      await page.context().close();
    });

looks.run();
