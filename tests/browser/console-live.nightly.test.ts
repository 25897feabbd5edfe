import type { Page, Request } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, waitForData } from '../support/console.ts';
import { ADA, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const live = browserSuite('changes by others in the console');

const isStream = (request: Request): boolean => request.url().includes('/trpc/events.stream');

/** Opens a screen, and waits until it listens to events. */
const openLive = async (page: Page, path: string): Promise<void> => {
  const stream = page.waitForResponse((response) => isStream(response.request()));
  await openConsole(page, path);
  await stream;
  await waitForData(page);
};

const rename = (app: TestApp, first_name: string, email = GRACE) =>
  app.as(ROOT).users.update({ email, first_name });

live('a person whom one admin renames has the new name in the list of another', async ({ app, page }) => {
  await openLive(page, '/console/people');
  const search = page.getByRole('searchbox', { name: 'Search people' });
  await search.pressSequentially('acme.test');
  await page.waitForURL('**search=acme.test*');
  const selected = page.getByRole('checkbox', { name: `Select ${ADA}` });
  await selected.check();
  for (const name of ['Amazing', 'Grace']) {
    await rename(app, name);
    await page.getByRole('link', { name: `${name} Hopper` }).waitFor();
  }
  assert.is(await search.inputValue(), 'acme.test');
  assert.ok(await selected.isChecked());
  await selected.and(page.locator(':focus')).waitFor();
});

live('what is typed into a form stays, and the rest of the screen follows', async ({ app, page }) => {
  await openLive(page, `/console/people/${ADA}?tab=profile`);
  await page.getByLabel('Last name').fill('King');
  await rename(app, 'Augusta', ADA);
  await waitForHeading(page, 'Augusta Lovelace');
  assert.is(await page.getByLabel('Last name').inputValue(), 'King');
  assert.is(await page.getByLabel('First name').inputValue(), 'Ada', 'the form is being edited');
  await page.getByRole('button', { name: 'Discard' }).click();
  assert.is(await page.getByLabel('First name').inputValue(), 'Augusta');
  await rename(app, 'Ada', ADA);
  await waitForHeading(page, 'Ada Lovelace');
  await until('the form shows it', async () => (await page.getByLabel('First name').inputValue()) === 'Ada');
});

live('tabs share one stream, which another takes over when its tab is closed', async ({ app, page }) => {
  const streams = new Set<Page>();
  page.context().on('request', (request) => isStream(request) && streams.add(request.frame().page()));
  await openLive(page, '/console/people');
  const others: Page[] = [];
  while (others.length < 3) {
    const tab = await page.context().newPage();
    await tab.goto('/console/people');
    others.push(tab);
  }
  const waiting = () =>
    page.evaluate<number>('navigator.locks.query().then(({ pending }) => pending.length)');
  await until('the other tabs wait for the stream', async () => (await waiting()) === others.length);
  assert.is(streams.size, 1);
  await rename(app, 'Everywhere');
  for (const tab of [page, ...others]) await tab.getByRole('link', { name: 'Everywhere Hopper' }).waitFor();

  await page.close();
  await until('another tab listens', () => streams.size === 2);
  await rename(app, 'Grace');
  for (const tab of others) await tab.getByRole('link', { name: 'Grace Hopper' }).waitFor();
  assert.is(streams.size, 2);
});

live.run();
