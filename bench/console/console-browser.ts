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
