import { spawnSync } from 'node:child_process';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { createStewardClient, type StewardClientOptions } from '../../src/client.ts';
import { browserSuite, logIn, waitForHeading } from '../support/browser.ts';
import { chooseFromMenu, goTo, openConsole, waitForData } from '../support/console.ts';
import { invite } from '../support/mails.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, createInjectFetch, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

/** Opens the code samples of the screen, and closes them again. */
const readSamples = async (page: Page, path: string): Promise<{ typescript: string; curl: string }> => {
  await chooseFromMenu(page, 'Call it from code');
  const dialog = page.getByRole('dialog', { name: 'Call it from code' });
  const codeOf = async (name: string) =>
    (await dialog.getByRole('region', { name }).locator('pre').textContent()) ?? '';
  const samples = { typescript: await codeOf('TypeScript'), curl: await codeOf('curl') };
  if (path === '/console/clients') await assertLooksGood(page, 'console-code');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'detached' });
  return samples;
};

/** Prints its arguments, one a line. */
const CURL = 'curl() { printf "%s\\n" "$@"; }';

/** The responses to curl commands. A shell reads them. */
const runCurl = async (app: TestApp, commands: string, token: string): Promise<unknown[]> => {
  const shell = spawnSync('sh', ['-c', `${CURL}\n${commands}`], {
    env: { STEWARD_TOKEN: token },
    encoding: 'utf8',
  });
  const responses: unknown[] = [];
  for (const [, authorization, url] of shell.stdout.matchAll(/^-H\nAuthorization: (.*)\n(http.*)$/gm)) {
    const response = await app.server.inject({ url: url ?? '', headers: { authorization } });
    assert.is(response.statusCode, 200, url);
    responses.push(response.json());
  }
  return responses;
};

/** What a TypeScript sample prints. */
const runTypescript = async (app: TestApp, code: string, token: string): Promise<unknown[]> => {
  const printed: unknown[] = [];
  const globals = {
    createStewardClient: (options: StewardClientOptions) =>
      createStewardClient({ ...options, fetch: createInjectFetch(app.server) }),
    process: { env: { STEWARD_TOKEN: token } },
    console: { log: (value: unknown) => printed.push(value) },
  };
  const body = code.replace(/^import .*$/m, '');
  await new Function(...Object.keys(globals), `return (async () => {${body}})()`)(...Object.values(globals));
  return printed;
};

const shared = browserSuite('what the screens of the console share');

const REFUSED = /responded with a status of 4/;
const INVALID = '/console/people?client=0';
const OBRIEN = "o'brien@acme.test";

shared('the name of the service is shown before any script has arrived', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await logIn(page, ACME);
  await page.route('**/assets/*.js', () => {});
  await page.goto('/console/', { waitUntil: 'commit' });

  await page.getByText('Steward', { exact: true }).waitFor();
});

/** Screens with a filter, and the field of each row that they show. */
const SCREENS: [path: string, field: string][] = [
  ['/console/people?search=acme&sort=-email&is_active=true', 'email'],
  ['/console/apps', 'label'],
  ['/console/clients', 'name'],
  ['/console/mails?status=queued', 'recipient'],
  ['/console/invitations?status=all&search=guest', 'email'],
  ['/console/audit?action=user.update&from=2026-11-01&actor=admin@acme.test', 'target'],
  [`/console/usage?app=${SALES}&email=${GRACE}&periods=84`, 'action_description'],
  [`/console/people/${OBRIEN}`, 'email'],
  [`/console/apps/${SALES}`, 'label'],
  ['/console/clients/1', 'name'],
];

/** The rows in the response of a list, a page of entries, or a single object. */
const rowsOf = (response: unknown): Record<string, unknown>[] => {
  if (Array.isArray(response)) return response;
  const { items = [response] } = Object(response);
  return items;
};

shared('the code samples of each screen return what it shows', async ({ app, browser }) => {
  await invite(app, 2);
  await app.as(ACME).users.create({ email: OBRIEN });
  await app.as(ACME).users.update({ email: OBRIEN, last_name: "O'Brien" });
  const token = await app.tokenOf(ROOT);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/account', ROOT);
  await waitForHeading(page, 'Account');

  for (const [path, field] of SCREENS) {
    await goTo(page, path);
    const shown = await page.locator('main').innerText();
    const { typescript, curl } = await readSamples(page, path);
    const responses = await runCurl(app, curl, token);
    assert.equal(JSON.parse(JSON.stringify(await runTypescript(app, typescript, token))), responses, path);
    const [first] = rowsOf(responses.at(-1));
    assert.ok(shown.includes(String(first?.[field])), `${path} shows ${first?.[field]}`);
    assert.not.match(typescript + curl, token);
  }
});

/** Lists with a filter that nothing matches, and what they say then. */
const EMPTY_LISTS: [path: string, advice: string][] = [
  ['/console/people?search=nowhere', 'Change the filter, or invite someone.'],
  ['/console/audit?target=nowhere', 'Remove a part of the filter.'],
  ['/console/access?search=nowhere', 'Change the search, or invite someone.'],
  ['/console/apps?search=nowhere', 'Change the search or the filter.'],
  ['/console/idle?kind=apps', 'All apps are in use.'],
];

shared('a list is a skeleton while it loads, and says what to do if it is empty', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  const held: (() => Promise<void>)[] = [];
  let isHolding = false;
  await page.route('**/trpc/**', (route) =>
    isHolding ? held.push(() => route.continue()) : route.continue(),
  );
  await openConsole(page, '/console/account');
  await waitForHeading(page, 'Account');
  await waitForData(page);
  for (const [path, advice] of EMPTY_LISTS) {
    isHolding = true;
    await page.evaluate(`history.pushState({}, '', '${path}')`);
    await page.locator('main .mantine-Skeleton-root[data-visible]').first().waitFor();
    assert.is(await page.locator('.mantine-Loader-root').count(), 0, path);
    isHolding = false;
    await Promise.all(held.splice(0).map((release) => release()));

    await page.getByText(advice).waitFor();
  }
});

shared('an error has the ID of its request, to copy', async ({ browser }) => {
  await using visit = await browser.open(REFUSED);
  const { page } = visit;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const refused = page.waitForResponse(/users\.people/);
  await openConsole(page, INVALID);
  const id = (await (await refused).allHeaders())['x-request-id'] ?? 'none';
  await page.getByRole('alert').getByText(`Request ${id}`).waitFor();
  await page.getByRole('button', { name: 'Copy the ID of the request' }).click();

  assert.is(await page.evaluate('navigator.clipboard.readText()'), id);
  await openConsole(page, '/console/people', ADA);
  await page.getByRole('alert').getByText('This screen is for').waitFor();
  await assertLooksGood(page, 'console-refused');
});

/** Moves the focus forward until it is on the control. */
const tabTo = async (page: Page, name: string): Promise<void> => {
  const focused = page
    .locator(':focus')
    .and(page.getByLabel(name).or(page.getByRole('button', { name })).or(page.getByRole('tab', { name })));
  for (let steps = 0; (await focused.count()) === 0; steps += 1) {
    assert.ok(steps < 80, `Tab does not reach ${name}`);
    await page.keyboard.press('Tab');
  }
};

shared('a person is found, changed and saved with the keyboard alone', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: 'Find people' }).waitFor();
  await page.keyboard.type('gra');
  await page.getByRole('option', { name: 'Grace Hopper' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await waitForHeading(page, 'Grace Hopper');
  await page.locator('h1:focus').waitFor();
  await tabTo(page, 'Access');
  await page.keyboard.press('ArrowRight');
  await tabTo(page, 'First name');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('Amazing');
  await tabTo(page, 'Save');
  await page.keyboard.press('Enter');
  await page.getByText('Saved.').waitFor();

  assert.is((await app.as(ACME).users.get({ email: GRACE })).first_name, 'Amazing');
});

/** Screens, and what opens a dialog there: a button, or an item of a button's menu. */
const OPENERS: [path: string, opener: string, item?: string][] = [
  [`/console/people/${ADA}`, 'Grant an app'],
  [`/console/people/${ADA}`, 'Change Sales', 'Change the end…'],
  [`/console/people/${ADA}`, 'Why? Sales'],
  ['/console/groups', 'New group'],
];

shared('the focus returns to what opened a dialog', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  for (const [path, name, item] of OPENERS) {
    if (new URL(page.url()).pathname !== path) await goTo(page, path);
    const opener = page.getByRole('button', { name, exact: true });
    await opener.focus();
    await page.keyboard.press('Enter');
    if (item !== undefined) {
      await page.getByRole('menuitem', { name: item }).focus();
      await page.keyboard.press('Enter');
    }
    const dialog = page.getByRole('dialog');
    await dialog.locator(':focus').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    await opener.and(page.locator(':focus')).waitFor();
  }
});

shared.run();
