import type { Page, Request } from 'playwright-core';
import { fillLogin, waitForHeading } from './browser.ts';
import { ADA, DEMO_PASSWORD } from './test-app.ts';

export const ORIGIN = 'http://localhost:8000';
const SITES = '/api/v1/jb/sites/';

export const logIn = async (page: Page): Promise<void> => {
  await page.goto('/login/');
  await fillLogin(page, ADA, DEMO_PASSWORD);
  await waitForHeading(page, 'Hello Ada');
  // Leaving the page while images are loading would fail their requests.
  await page.waitForLoadState();
};

/** Opens the reference and waits until Scalar has rendered it. */
export const openReference = async (page: Page): Promise<void> => {
  await page.goto('/docs/');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByLabel('Value', { exact: true }).waitFor();
};

/** Opens Scalar's client for the list of sites. */
export const openClient = async (page: Page): Promise<void> => {
  await page.goto(`/docs/#tag/sites/GET${SITES}`);
  await page.getByRole('button', { name: /Test Request.*get.*\/jb\/sites\/\W*$/ }).click();
  await page.getByRole('dialog', { name: 'API Client' }).waitFor();
};

/** Presses Send in Scalar's client and returns the request. */
export const sendRequest = async (page: Page): Promise<Request> => {
  const [request] = await Promise.all([
    page.waitForRequest(ORIGIN + SITES),
    page.getByRole('button', { name: /^Send get request/ }).click(),
  ]);
  return request;
};
