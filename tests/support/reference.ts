import type { Page, Request } from 'playwright-core';
import { fillLogin, seesHeading } from './browser.ts';
import { ADA, DEMO_PASSWORD } from './test-app.ts';

export const ORIGIN = 'http://localhost:8000';
const SITES = '/api/v1/jb/sites/';

/** As Ada. */
export const logIn = async (page: Page): Promise<void> => {
  await page.goto('/login/');
  await fillLogin(page, ADA, DEMO_PASSWORD);
  await seesHeading(page, 'Hello Ada');
  // Leaving before its pictures are there would break them off.
  await page.waitForLoadState();
};

/** Opens the reference, and waits until it is drawn. */
export const openReference = async (page: Page): Promise<void> => {
  await page.goto('/docs/');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByLabel('Value', { exact: true }).waitFor();
};

/** Opens the form by which the list of sites is tried out. */
export const tryOut = async (page: Page): Promise<void> => {
  await page.goto(`/docs/#tag/sites/GET${SITES}`);
  await page.getByRole('button', { name: /Test Request.*get.*\/jb\/sites\/\W*$/ }).click();
  await page.getByRole('dialog', { name: 'API Client' }).waitFor();
};

/** Presses its button, and gives the request that is then made. */
export const sendRequest = async (page: Page): Promise<Request> => {
  const [sent] = await Promise.all([
    page.waitForRequest(ORIGIN + SITES),
    page.getByRole('button', { name: /^Send get request/ }).click(),
  ]);
  return sent;
};
