import type { Browser, Page } from 'playwright-core';
import { fillLogin, launchChromium, openTab } from '../support/browser.ts';
import { type Service, startService } from '../support/service-process.ts';
import { startSmtpServer, type TestSmtpServer } from '../support/smtp-server.ts';
import { DEMO_PASSWORD, makeDataDir } from '../support/test-server.ts';

export const ADMIN = 'admin@acme.test';
const VIEWPORT = { width: 1280, height: 720 };

/** A demo service with a mail server, and the console in the browser of an admin. */
export type Tour = {
  service: Service;
  smtp: TestSmtpServer;
  /** The console, as the admin sees it. */
  page: Page;
  /** Opens the console in a fresh browser profile. */
  logIn: (email: string) => Promise<Page>;
  /** The JSON of a response of the API to the admin, to check what a step has changed. */
  read: (path: string) => Promise<Row[]>;
  screenshot: (name: string, page?: Page) => Promise<void>;
};

/** An element of a list. */
type Row = Record<string, unknown>;

/** Something that an admin does. Fails unless it had its effect; the result says what that was. */
export type Step = { title: string; run: (tour: Tour) => Promise<string> };

type Options = {
  /** Saves a screenshot; absent if none is wanted. */
  save?: ((name: string, png: Buffer) => Promise<void>) | undefined;
};

/** Starts what a tour needs. `close` ends all of it and removes the data. */
export const startTour = async ({ save }: Options, closing: AsyncDisposableStack): Promise<Tour> => {
  const browser = await launchChromium();
  closing.defer(() => browser.close());
  const folder = closing.use(await makeDataDir());
  const smtp = closing.use(await startSmtpServer());
  const service = closing.use(await startService('demo', { DATA_DIR: folder.path, SMTP_URL: smtp.url }));
  const { token } = await service.logIn(ADMIN, DEMO_PASSWORD);
  const logIn = (email: string): Promise<Page> => openConsole(browser, service.address, email);
  const page = await logIn(ADMIN);
  return {
    service,
    smtp,
    page,
    logIn,
    read: async (path) => (await service.send(`GET ${path}`, { token })).json,
    screenshot: async (name, shown = page) => {
      if (!save) return;
      await save(name, await shown.screenshot({ animations: 'disabled', caret: 'hide' }));
    },
  };
};

const openConsole = async (browser: Browser, baseURL: string, email: string): Promise<Page> => {
  const page = await openTab(browser, { baseURL, viewport: VIEWPORT, colorScheme: 'light' });
  await page.goto('/console/');
  await fillLogin(page, email, DEMO_PASSWORD);
  return page;
};
