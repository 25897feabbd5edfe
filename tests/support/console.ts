import type { Page } from 'playwright-core';
import { fillLogin, waitForHeading } from './browser.ts';
import type { Steps } from './screenshots.ts';
import { ACME, DEMO_PASSWORD } from './test-app.ts';

/** Opens a screen of the console as this user. */
export const openConsole = async (page: Page, path: string, email = ACME): Promise<void> => {
  await page.goto(path);
  await fillLogin(page, email, DEMO_PASSWORD);
};

/** The steps that open a screen with this heading, and load all of it. */
export const showing =
  (path: string, heading: string, email = ACME): Steps =>
  async (page) => {
    await openConsole(page, path, email);
    await waitForHeading(page, heading);
    await page.waitForLoadState('networkidle');
  };
