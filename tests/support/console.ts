import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { logIn, waitForHeading } from './browser.ts';
import { until } from './poll.ts';
import type { Steps } from './screenshots.ts';
import { ACME, type TestApp } from './test-app.ts';

/** Opens a screen of the console as this user. */
export const openConsole = async (page: Page, path: string, email = ACME): Promise<void> => {
  await logIn(page, email);
  await page.goto(path);
};

/** The steps that open a screen with this heading, and load all of it. */
export const showing =
  (path: string, heading: string, email = ACME): Steps =>
  async (page) => {
    await openConsole(page, path, email);
    await waitForHeading(page, heading);
    await waitForData(page);
  };

/** Waits until no part of the screen is loading. */
export const waitForData = async (page: Page): Promise<void> => {
  await page.locator('.mantine-Skeleton-root[data-visible]').first().waitFor({ state: 'detached' });
};

/** Goes to another screen within the page, as its links do. */
export const goTo = async (page: Page, path: string): Promise<void> => {
  const title = await page.title();
  await page.evaluate(`history.pushState({}, '', ${JSON.stringify(path)})`);
  await until(`${path} is shown`, async () => (await page.title()) !== title);
  await waitForData(page);
};

/** Lets calls of this procedure succeed without a response, until the result is called. */
export const loseResponses = async (page: Page, app: TestApp, procedure: string) => {
  const calls = `**/trpc/${procedure}*`;
  await page.route(calls, async (route) => {
    const { pathname, search } = new URL(route.request().url());
    const headers = { ...(await route.request().allHeaders()), host: 'localhost:8000' };
    const payload = route.request().postData() ?? '';
    const response = await app.server.inject({ method: 'POST', url: pathname + search, headers, payload });
    assert.is(response.statusCode, 200);
    await route.abort('aborted');
  });
  return () => page.unroute(calls);
};
