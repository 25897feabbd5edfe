import { access } from 'node:fs/promises';
import { type Browser, chromium, type Page } from 'playwright-core';
import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { CHROMIUM } from './chromium.ts';
import { startTestApp, type TestApp } from './test-app.ts';

const HOSTS = ['localhost:8000', 'globex.localhost:8000'];
const TIMEOUT_MS = 15_000;

type Context = { app: TestApp; browser: TestBrowser };
export type TestBrowser = Awaited<ReturnType<typeof startBrowser>>;

/** A suite whose tests share one listening app, and one Chromium that finds the demo's hosts there. */
export const browserSuite = (name: string, settings: Record<string, string> = {}): Test<Context> => {
  const tests = suite<Context>(name);
  tests.before(async (context) => {
    context.app = await startTestApp(settings);
    context.browser = await startBrowser(context.app).catch(async (error: unknown) => {
      await context.app.close();
      throw error;
    });
  });
  tests.after(async ({ app, browser }) => {
    await browser.close();
    await app.close();
  });
  return tests;
};

const startBrowser = async (app: TestApp) => {
  const { port } = new URL(await app.server.listen({ port: 0, host: '127.0.0.1' }));
  const browser = await launchChromium(HOSTS.map((host) => `MAP ${host} 127.0.0.1:${port}`).join(', '));
  return {
    /** Somebody who has never been here: a profile of their own, and one page. */
    open: () => openPage(browser),
    close: () => browser.close(),
  };
};

/** @param hostRules for Chromium's own resolver: which name leads where */
export const launchChromium = async (hostRules = ''): Promise<Browser> => {
  await access(CHROMIUM).catch((cause: unknown) => {
    throw new Error(
      'This test needs Chromium: apt-get install chromium, or set CHROMIUM to where it is installed.',
      { cause },
    );
  });
  // Its sandbox wants privileges that containers do not give; it shows nothing but our own pages here.
  const args = ['--no-sandbox', `--host-resolver-rules=${hostRules}`];
  return chromium.launch({ executablePath: CHROMIUM, args });
};

const openPage = async (browser: Browser) => {
  const context = await browser.newContext({ baseURL: `http://${HOSTS[0]}` });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  const answers = new Set<string>();
  // That a page is the answer to a failure is said on the console as well; only for what it loads is that a fault.
  page.on('response', (response) => response.request().isNavigationRequest() && answers.add(response.url()));
  page.on('console', (message) => {
    if (message.type() !== 'info' && !answers.has(message.location().url)) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText;
    // What is still on its way when a page is left, its icon for one, which no load waits for.
    if (reason !== 'net::ERR_ABORTED') faults.push(`${request.url()} failed: ${reason}`);
  });
  return {
    page,
    cookies: async () => (await context.cookies()).map(({ name }) => name),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await context.close();
      assert.equal(faults, [], 'the browser has complained');
    },
  };
};

/** Fills in the login form that is shown, and sends it. */
export const fillLogin = async (page: Page, email: string, password: string): Promise<void> => {
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
};

/** Waits until the heading of the page reads so. */
export const seesHeading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
