import { access } from 'node:fs/promises';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import * as assert from 'uvu/assert';
import { CHROMIUM } from './environment.ts';
import { suiteWith } from './suite.ts';
import { DEMO_PASSWORD, startTestApp, type TestApp } from './test-app.ts';

const HOSTS = ['localhost:8000', 'globex.localhost:8000'];
/** Only ends what hangs: on a busy machine, a page can take many times as long as on an idle one. */
const TIMEOUT_MS = 60_000;
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0';

/** What Chromium says about a refusal that a test causes. */
export const REFUSED = /responded with a status of 4/;
/** What it says about a response that does not arrive, too. */
export const LOST = /Failed to load resource|net::/;

type Context = { app: TestApp; browser: TestBrowser };
export type TestBrowser = Awaited<ReturnType<typeof startBrowser>>;
export type BrowserSuite = ReturnType<typeof browserSuite>;

/**
 * A suite whose tests share one listening app and one Chromium that resolves the demo's hosts to it, at the time of the app. Each
 * test gets a page with a fresh profile.
 * @param expected errors that tests cause in the browser
 */
export const browserSuite = (name: string, expected?: RegExp) => {
  const tests = suiteWith(name, async (started): Promise<Context> => {
    const app = await startTestApp();
    started.defer(app.close);
    const browser = await startBrowser(app);
    started.defer(browser.close);
    return { app, browser };
  });
  const withPage = (title: string, test: (context: Context & { page: Page }) => Promise<unknown>): void =>
    tests(title, async (context) => {
      await using visit = await context.browser.open(expected);
      await test({ ...context, page: visit.page });
    });
  const { before, after, run } = tests;
  return Object.assign(withPage, { before, after, run, expected, withoutPage: tests });
};

/** The service that the pages of a context show. */
const services = new WeakMap<BrowserContext, TestApp>();

/** Logs the browser of a page in, without the login page. */
export const logIn = async (page: Page, email: string): Promise<void> => {
  const payload = { username: email, password: DEMO_PASSWORD };
  const response = await services
    .get(page.context())
    ?.send('POST /session/', { payload, headers: { 'user-agent': USER_AGENT } });
  assert.is(response?.statusCode, 200);
  const cookies = response?.cookies.map(({ name, value }) => ({ name, value, url: `http://${HOSTS[0]}` }));
  await page.context().addCookies(cookies ?? []);
};

const startBrowser = async (app: TestApp) => {
  const { clock, server } = app;
  // Node would send the time of the machine, from which the console takes that of the service.
  server.server.prependListener('request', (_request, response) => {
    response.setHeader('date', clock.now().toUTCString());
  });
  const { port } = new URL(await server.listen({ port: 0, host: '127.0.0.1' }));
  const browser = await launchChromium(HOSTS.map((host) => `MAP ${host} 127.0.0.1:${port}`).join(', '));
  return {
    /** Opens a page with a fresh profile. Disposing it fails if the browser reported an error other than the expected ones. */
    open: async (expected?: RegExp) => {
      const visit = await openPage(browser, expected);
      services.set(visit.page.context(), app);
      await setTime(visit.page.context(), clock.now());
      return visit;
    },
    /** Advances the clock of the app and that of all pages. */
    advance: async (ms: number): Promise<void> => {
      clock.advance(ms);
      for (const context of browser.contexts()) await setTime(context, clock.now());
    },
    close: () => browser.close(),
  };
};

/**
 * Sets the time of the pages of a context, from which it goes on. Only dates are replaced: Playwright's clock would also take the
 * timers and the animation frames of the browser, by which screens are shown.
 */
const setTime = async (context: BrowserContext, now: Date): Promise<void> => {
  const script = `
    globalThis.aheadMs = ${now.getTime() - Date.now()};
    globalThis.ShiftedDate ??= class extends Date {
      static now() { return super.now() + aheadMs; }
      constructor(...parts) { super(...(parts.length > 0 ? parts : [ShiftedDate.now()])); }
    };
    globalThis.Date = ShiftedDate;`;
  await context.addInitScript(script);
  for (const page of context.pages()) await page.evaluate(script);
};

/** @param hostRules maps host names to addresses, see Chromium's `--host-resolver-rules` */
export const launchChromium = async (hostRules = ''): Promise<Browser> => {
  await access(CHROMIUM).catch((cause: unknown) => {
    throw new Error(
      'Chromium is missing. Run apt-get install chromium-headless-shell, or set CHROMIUM to the path of the executable.',
      { cause },
    );
  });
  // The sandbox needs privileges that containers lack; Chromium only opens our own pages here.
  const args = ['--no-sandbox', `--host-resolver-rules=${hostRules}`];
  return chromium.launch({ executablePath: CHROMIUM, args });
};

/** A page in a fresh profile. Without transitions, as a button could move between the press and the release of a click. */
export const openTab = async (browser: Browser, options: BrowserContextOptions = {}): Promise<Page> => {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(TIMEOUT_MS);
  return context.newPage();
};

const openPage = async (browser: Browser, expected?: RegExp) => {
  const page = await openTab(browser, { baseURL: `http://${HOSTS[0]}` });
  const context = page.context();
  const errors: string[] = [];
  const navigations = new Set<string>();
  // Chromium logs every response with an error status. That is expected of pages, but not of what they load.
  page.on(
    'response',
    (response) => response.request().isNavigationRequest() && navigations.add(response.url()),
  );
  page.on('console', (message) => {
    if (message.type() !== 'info' && !navigations.has(message.location().url)) errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText;
    // Leaving a page aborts requests such as that for its icon, which `load` does not wait for.
    if (reason !== 'net::ERR_ABORTED') errors.push(`${request.url()} failed: ${reason}`);
  });
  /** Fails if the browser has reported errors. */
  const check = (): void => {
    const unexpected = errors.splice(0).filter((error) => !expected?.test(error));
    assert.equal(unexpected, [], 'the browser reported errors');
  };
  return {
    page,
    check,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await context.close();
      check();
    },
  };
};

/** Fills in and submits the login form of the current page. */
export const fillLogin = async (page: Page, email: string, password: string): Promise<void> => {
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
};

/** Waits for a page with this heading. */
export const waitForHeading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
