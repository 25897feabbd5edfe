import type { Browser, BrowserContext, Page } from 'playwright-core';
import { fillLogin, launchChromium } from '../../tests/support/browser.ts';
import { PASSWORD } from '../data/content.ts';
import { ROOT } from '../data/people.ts';
import type { Environment } from '../environment.ts';

/** The console in Chromium, over the generated data, with the session of a superuser. */
export type ConsoleBrowser = {
  environment: Environment;
  page: Page;
  /** A page with empty caches. */
  openCold: () => Promise<Page>;
  /** Rows of the API. */
  read: (path: string) => Promise<Record<string, unknown>[]>;
};

const VIEWPORT = { width: 1280, height: 800 };

export const openConsoleBrowser = async (
  environment: Environment,
  cleanup: AsyncDisposableStack,
): Promise<ConsoleBrowser> => {
  const { service, token } = environment;
  const browser: Browser = await launchChromium();
  cleanup.defer(() => browser.close());
  const open = (state?: Awaited<ReturnType<BrowserContext['storageState']>>) =>
    browser.newContext({
      baseURL: service.address,
      viewport: VIEWPORT,
      reducedMotion: 'reduce',
      ...(state && { storageState: state }),
    });
  const context = await open();
  const page = await context.newPage();
  await page.goto('/console/');
  await fillLogin(page, ROOT, PASSWORD);
  await page.getByRole('heading', { level: 1, name: /^Hello/ }).waitFor();
  const state = await context.storageState();
  return {
    environment,
    page,
    openCold: async () => (await open(state)).newPage(),
    read: async (path) => (await service.send(`GET ${path}`, { token })).json,
  };
};

const TIMEOUT_MS = 30_000;

/**
 * Waits in the page for the next event of this type, and then for the frame that fulfills the condition, an expression. The
 * result resolves with the milliseconds between them, until that frame is painted.
 */
export const watchPage = async (page: Page, event: string, condition: string) => {
  await page.evaluate(`
    globalThis.measured = new Promise((resolve, reject) => {
      let start;
      addEventListener('${event}', ({ timeStamp }) => { start = timeStamp; }, { capture: true, once: true });
      const check = () => {
        if (start !== undefined && (${condition})) setTimeout(() => resolve(performance.now() - start));
        else requestAnimationFrame(check);
      };
      requestAnimationFrame(check);
      setTimeout(() => reject(new Error('Not shown in time.')), ${TIMEOUT_MS});
    });
    // Awaited later: an evaluation waits for the promise that it results in.
    void globalThis.measured.catch(() => {});`);
  return (): Promise<number> => page.evaluate<number>('globalThis.measured');
};

/** Measures the way to another screen of the console, which the router takes like one of its links. */
export const measureNavigation = async (page: Page, path: string, condition: string): Promise<number> => {
  const shown = await watchPage(page, 'popstate', condition);
  await page.evaluate(`
    history.pushState({}, '', ${JSON.stringify(path)});
    dispatchEvent(new PopStateEvent('popstate'));`);
  return shown();
};
