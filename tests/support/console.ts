import type { Page, Request } from 'playwright-core';
import * as assert from 'uvu/assert';
import { fillLogin, logIn, waitForHeading } from './browser.ts';
import type { Steps } from './screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, type TestApp } from './test-app.ts';
import { until } from './time.ts';

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

/** Changes the size of the window, and waits until the page has been laid out for it: until then, rows are replaced under a test. */
export const resizeTo = async (page: Page, size: { width: number; height: number }): Promise<void> => {
  await page.setViewportSize(size);
  await page.evaluate(
    'new Promise((laidOut) => requestAnimationFrame(() => requestAnimationFrame(laidOut)))',
  );
  await waitForData(page);
};

/** Makes a page that hears of no changes by others: it would show them sooner or later, before or after what a test does next. */
export const hearNothing = (page: Page) => page.route('**/trpc/events.*', () => {});

/** Chooses an item of the menu in the heading of a screen. */
export const chooseFromMenu = async (page: Page, item: string): Promise<void> => {
  await page.getByRole('button', { name: 'More actions', exact: true }).click();
  await page.getByRole('menuitem', { name: item }).click();
};

/** Chooses the value of a filter, such as `Status`, whose chip shows it then. */
export const chooseFilter = async (page: Page, label: string, choice: string): Promise<void> => {
  await page.getByRole('button', { name: new RegExp(`^${label}(:|$)`) }).click();
  await page.getByRole('option', { name: choice, exact: true }).click();
  await page.getByRole('button', { name: `${label}: ${choice}` }).waitFor();
};

/** Types into the search of a filter whose choices the service finds, and chooses one. */
export const searchFilter = async (
  page: Page,
  label: string,
  text: string,
  choice: string,
): Promise<void> => {
  await page.getByRole('button', { name: new RegExp(`^${label}(:|$)`) }).click();
  await page.getByRole('textbox', { name: `Search: ${label}` }).fill(text);
  await page.getByRole('option', { name: choice }).click();
};

/** Chooses the client whose data the lists show. */
export const chooseClient = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('button', { name: /^Client: / }).click();
  await page.getByRole('option', { name, exact: true }).click();
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

/** In the form of Invite. */
export const typeAddresses = (page: Page, text: string): Promise<void> =>
  page.getByLabel('Email addresses').fill(text);

/** Types several, and puts them into the list. */
export const listAddresses = async (page: Page, text: string): Promise<void> => {
  await typeAddresses(page, text);
  await page.getByRole('button', { name: 'Edit as a list' }).click();
};

/** The button that creates `2 invitations`; with a mail server, it sends them. */
export const create = (page: Page, count: string) =>
  page.getByRole('button', { name: `Create ${count}`, exact: true });

/** Pending invitations whose address or name has these words. */
export const pendingOf = async (app: TestApp, search: string) =>
  (await app.as(ACME).invitations.search({ search, limit: 200 })) as {
    email: string;
    first_name: string;
    last_name: string;
    initial_apps: string[];
  }[];

/** @param recipient an address, or a pattern of SQL */
export const mailsTo = (app: TestApp, recipient: string) =>
  app.db().selectFrom('outbox_mails').selectAll().where('recipient', 'like', recipient).execute();

export const ORIGIN = 'http://localhost:8000';
const SITES = '/api/v1/jb/sites/';

/** Logs in by the form, and waits for the home page. */
export const logInByForm = async (page: Page): Promise<void> => {
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
