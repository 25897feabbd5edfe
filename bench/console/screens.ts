import { gzipSync } from 'node:zlib';
import type { Page, Response } from 'playwright-core';
import { type ConsoleBrowser, measureNavigation, watchPage } from './console-browser.ts';

const PEOPLE_OF_MATRIX = 1_500;

/** Clients by how close they are to a number of people. */
const CLIENTS = `
  select client_id as id from memberships group by 1 order by abs(count(*) - $1) limit 10`;

/** Home has neither this heading nor the library of charts. */
const USAGE_SHOWN = `document.querySelector('h1')?.textContent === 'Usage' && document.querySelector('.recharts-curve')`;

type Ids = { id: string }[];

/** Each sample begins with a new page, whose caches of data are empty. */
const measureScreens = async (
  { page }: ConsoleBrowser,
  paths: string[],
  condition: string,
): Promise<number[]> => {
  const times: number[] = [];
  for (const path of paths) {
    await page.goto('/console/');
    await page.getByRole('heading', { level: 1, name: /^Hello/ }).waitFor();
    await page.waitForLoadState('networkidle');
    times.push(await measureNavigation(page, path, condition));
  }
  return times;
};

export const measureMatrix = async (console: ConsoleBrowser, samples: number): Promise<number[]> => {
  const { rows } = await console.environment.database.query<Ids[number]>(CLIENTS, [PEOPLE_OF_MATRIX]);
  const paths = Array.from(
    { length: samples },
    (_, index) => `/console/access?client=${rows[index % rows.length]?.id}`,
  );
  return measureScreens(console, paths, `document.querySelector('td input[type=checkbox]')`);
};

export const measureUsage = async (console: ConsoleBrowser, samples: number): Promise<number[]> => {
  const { rows } = await console.environment.database.query<Ids[number]>(CLIENTS, [PEOPLE_OF_MATRIX]);
  const paths = Array.from(
    { length: samples },
    (_, index) => `/console/usage?client=${rows[index % rows.length]?.id}&interval=month&periods=12`,
  );
  return measureScreens(console, paths, USAGE_SHOWN);
};

/** Notes when the first content and the first heading are painted. */
const WATCH_PAINTS = `
  globalThis.firstPaint = new Promise((resolve) => {
    const observer = new PerformanceObserver((list) => {
      for (const { name, startTime } of list.getEntries())
        if (name === 'first-contentful-paint') resolve(startTime);
    });
    observer.observe({ type: 'paint', buffered: true });
  });
  globalThis.heading = new Promise((resolve) => {
    const check = () => {
      if (document.querySelector('h1')) setTimeout(() => resolve(performance.now()));
      else requestAnimationFrame(check);
    };
    requestAnimationFrame(check);
  });`;

const openHome = async (page: Page): Promise<void> => {
  await page.goto('/console/');
  await page.evaluate('globalThis.heading');
};

/** Of a new page: nothing is cached but the session. */
const measureColdStart = async (
  { openCold }: ConsoleBrowser,
  samples: number,
  expression: string,
): Promise<number[]> => {
  const times: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    const page = await openCold();
    await page.addInitScript(WATCH_PAINTS);
    await openHome(page);
    times.push(await page.evaluate<number>(expression));
    await page.context().close();
  }
  return times;
};

export const measureFirstPaint = (console: ConsoleBrowser, samples: number): Promise<number[]> =>
  measureColdStart(console, samples, 'globalThis.firstPaint');

export const measureHeading = (console: ConsoleBrowser, samples: number): Promise<number[]> =>
  measureColdStart(console, samples, 'globalThis.heading');

/** Kilobytes of all scripts that Home loads, compressed with gzip. The same each time. */
export const measureScripts = async ({ openCold }: ConsoleBrowser): Promise<number[]> => {
  const page = await openCold();
  const scripts: Response[] = [];
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script') scripts.push(response);
  });
  await page.addInitScript(WATCH_PAINTS);
  await openHome(page);
  await page.waitForLoadState('networkidle');
  const bodies = await Promise.all(scripts.map((script) => script.body()));
  await page.context().close();
  return [bodies.reduce((sum, body) => sum + gzipSync(body).length, 0) / 1000];
};

const FIRST_ROW = `document.querySelector('[aria-label="People"] tbody a')?.getAttribute('href')`;

/** The shortest time between new rows and what the user does next. */
const PAUSE_MS = 300;

/** Names and parts of addresses, which match many people and one. */
const SEARCHES = `
  select case when id % 2 = 0 then first_name || ' ' || last_name else split_part(email, '@', 1) end as text
  from users where id > 1000 order by md5(id::text || $2) limit $1`;

/** Searches whose first match differs from the one before. */
const searchesOf = async ({ environment, read }: ConsoleBrowser, samples: number) => {
  const seed = String(Math.random());
  const { rows } = await environment.database.query<{ text: string }>(SEARCHES, [2 * samples, seed]);
  const searches: { text: string; email: string }[] = [];
  for (const { text } of rows) {
    const [first] = await read(`/jb/users/?${new URLSearchParams({ search: text, limit: '1' })}`);
    const email = String(first?.email);
    if (first && email !== searches.at(-1)?.email) searches.push({ text, email });
  }
  return searches.slice(0, samples);
};

/** From the last character to the new rows. */
export const measureSearch = async (console: ConsoleBrowser, samples: number): Promise<number[]> => {
  const { page } = console;
  const searches = await searchesOf(console, samples);
  await page.goto('/console/people');
  const field = page.getByRole('searchbox', { name: 'Search people' });
  await field.waitFor();
  const times: number[] = [];
  for (const { text, email } of searches) {
    await page.waitForTimeout(PAUSE_MS);
    await field.selectText();
    const path = JSON.stringify(`/console/people/${encodeURIComponent(email)}`);
    const shown = await watchPage(page, 'input', `${FIRST_ROW} === ${path}`);
    await page.keyboard.insertText(text);
    times.push(await shown());
  }
  return times;
};

/** From a click in the list to the heading and the form of the person. */
export const measurePerson = async (console: ConsoleBrowser, samples: number): Promise<number[]> => {
  const { page } = console;
  const searches = await searchesOf(console, samples);
  await page.goto('/console/people');
  const times: number[] = [];
  for (const { text, email } of searches) {
    await page.getByRole('searchbox', { name: 'Search people' }).fill(text);
    const link = page.locator(`[aria-label="People"] a[href$="/${encodeURIComponent(email)}"]`);
    const name = JSON.stringify(await link.innerText());
    await page.waitForLoadState('networkidle');
    await page.waitForTimeout(PAUSE_MS);
    const isShown = `document.querySelector('h1')?.textContent === ${name} && document.querySelector('main form')`;
    const shown = await watchPage(page, 'click', isShown);
    await link.click();
    times.push(await shown());
    await page.goBack();
  }
  return times;
};
