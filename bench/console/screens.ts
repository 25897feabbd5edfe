import { gzipSync } from 'node:zlib';
import type { Page, Response } from 'playwright-core';
import { type ConsoleBrowser, measureNavigation } from './console-browser.ts';

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
