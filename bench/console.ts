import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Command } from 'commander';
import type { Browser, Page } from 'playwright-core';
import { reportFailure } from '../src/cli/failures.ts';
import { fillLogin, launchChromium } from '../tests/support/browser.ts';
import { median, quantile, send } from './comparison/load.ts';
import { logIn } from './comparison/peers.ts';
import { describeMachine, writeTables } from './comparison/tables.ts';
import { PASSWORD, ROOT } from './data/rows.ts';
import { BASE_URL, openDataDir, parseCount, startSteward, stopProcess } from './environment.ts';

const CHECKOUT = join(import.meta.dirname, '..');
const PEOPLE_OF_MATRIX = 1_500;
const TIMEOUT_MS = 30_000;
/** Between new rows and what the user does next. */
const PAUSE_MS = 300;
/** Between the arrival of a pointer at a link and its click: people take longer. */
const HOVER_MS = 150;

/** The console in Chromium, over the generated data, with the session of a superuser. */
type Bench = {
  page: Page;
  /** A page with empty caches, and the session. */
  openCold: () => Promise<Page>;
  read: (path: string) => Promise<Record<string, unknown>[]>;
};

type Measure = {
  title: string;
  unit: 'ms' | 'kB';
  /** The largest p95 that is good enough. */
  goal: number;
  take: (bench: Bench, samples: number) => Promise<number[]>;
};

/**
 * Waits in the page for the next event of this type, and then for the frame that fulfills the condition, an expression.
 * @returns resolves with the milliseconds between them, until that frame is painted
 */
const watch = async (page: Page, event: string, condition: string) => {
  await page.evaluate(`
    globalThis.measured = new Promise((resolve, reject) => {
      let start;
      addEventListener('${event}', ({ timeStamp }) => { start = timeStamp; }, { capture: true, once: true });
      const check = () => {
        if (start !== undefined && (${condition})) setTimeout(() => resolve(performance.now() - start));
        else requestAnimationFrame(check);
      };
      requestAnimationFrame(check);
      setTimeout(() => reject(new Error(${JSON.stringify(`Not shown in time: ${condition}`)})), ${TIMEOUT_MS});
    });
    // Awaited later: an evaluation waits for the promise that it results in.
    void globalThis.measured.catch(() => {});`);
  return () => page.evaluate<number>('globalThis.measured');
};

/** Measures the way to another screen, which the router takes as one of its links. */
const navigate = async (page: Page, path: string, condition: string): Promise<number> => {
  const shown = await watch(page, 'popstate', condition);
  await page.evaluate(`
    history.pushState({}, '', ${JSON.stringify(path)});
    dispatchEvent(new PopStateEvent('popstate'));`);
  return shown();
};

const HELLO = `/^Hello/.test(document.querySelector('h1')?.textContent ?? '')`;
const FIRST_ROW = `document.querySelector('[aria-label="People"] tbody a')?.getAttribute('href')`;

const openHome = async (page: Page): Promise<void> => {
  await page.goto('/console/');
  await page.getByRole('heading', { level: 1, name: /^Hello/ }).waitFor();
  await page.waitForLoadState('networkidle');
};

/** Screens whose data is not cached: each sample begins with a new page. */
const measureScreens = async ({ page }: Bench, paths: readonly string[], condition: string) => {
  const times: number[] = [];
  for (const path of paths) {
    await openHome(page);
    times.push(await navigate(page, path, condition));
  }
  return times;
};

/** Names and parts of addresses, which match many people and one, and the address of the first match. */
const searchesOf = async ({ read }: Bench, samples: number) => {
  const people = await read('/jb/users/?role=member&limit=500');
  const searches: { text: string; email: string }[] = [];
  for (let index = 0; index < 4 * samples && searches.length < samples; index += 1) {
    const person = people[Math.floor(Math.random() * people.length)];
    const [local = ''] = String(person?.email).split('@');
    const text = index % 2 === 0 ? `${person?.first_name} ${person?.last_name}` : local;
    const [first] = await read(`/jb/users/?${new URLSearchParams({ search: text, limit: '1' })}`);
    if (first && first.email !== searches.at(-1)?.email) searches.push({ text, email: String(first.email) });
  }
  return searches;
};

const linkTo = (email: string): string => `/console/people/${encodeURIComponent(email)}`;

/** From the last character to the new rows. */
const measureSearch = async (bench: Bench, samples: number): Promise<number[]> => {
  const { page } = bench;
  const searches = await searchesOf(bench, samples);
  await page.goto('/console/people');
  const field = page.getByRole('searchbox', { name: 'Search people' });
  await field.waitFor();
  const times: number[] = [];
  for (const { text, email } of searches) {
    await page.waitForTimeout(PAUSE_MS);
    await field.selectText();
    const shown = await watch(page, 'input', `${FIRST_ROW} === ${JSON.stringify(linkTo(email))}`);
    await page.keyboard.insertText(text);
    times.push(await shown());
  }
  return times;
};

/**
 * From a click in the list to the name and the facts.
 * @param hoverMs how long the pointer has been on the link, which then loads what its screen shows
 */
const measurePerson = async (bench: Bench, samples: number, hoverMs: number): Promise<number[]> => {
  const { page } = bench;
  const searches = await searchesOf(bench, samples);
  await page.goto('/console/people');
  const times: number[] = [];
  for (const { text, email } of searches) {
    await page.getByRole('searchbox', { name: 'Search people' }).fill(text);
    const link = page.locator(`[aria-label="People"] a[href="${linkTo(email)}"]`).first();
    await link.waitFor();
    await page.waitForLoadState('networkidle');
    await page.waitForTimeout(PAUSE_MS);
    const [name] = (await link.innerText()).split('\n');
    const isShown = `document.querySelector('h1')?.textContent === ${JSON.stringify(name)} && document.querySelector('main dl')`;
    const shown = await watch(page, 'click', isShown);
    if (hoverMs > 0) {
      await link.hover();
      await page.waitForTimeout(hoverMs);
    }
    await link.click();
    times.push(await shown());
    await page.goBack();
  }
  return times;
};

/** Back to a list that was shown before. */
const measureNavigation = async ({ page }: Bench, samples: number): Promise<number[]> => {
  await page.goto('/console/people');
  await page.locator('[aria-label="People"] tbody a').first().waitFor();
  const times: number[] = [];
  while (times.length < samples) {
    await navigate(page, '/console/', HELLO);
    await page.waitForTimeout(PAUSE_MS);
    times.push(await navigate(page, '/console/people', FIRST_ROW));
  }
  return times;
};

/** The clients that are closest to the number of people of the goal. */
const clientsOf = async ({ read }: Bench): Promise<number[]> => {
  const clients: { id: number; distance: number }[] = [];
  for (const { id } of await read('/jb/clients/')) {
    const people = await read(`/jb/clients/${id}/users/`);
    clients.push({ id: Number(id), distance: Math.abs(people.length - PEOPLE_OF_MATRIX) });
  }
  return clients
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, 5)
    .map(({ id }) => id);
};

const perClient = async (bench: Bench, samples: number, pathOf: (client: number) => string) => {
  const clients = await clientsOf(bench);
  return Array.from({ length: samples }, (_, index) => pathOf(clients[index % clients.length] ?? 1));
};

const measureMatrix = async (bench: Bench, samples: number): Promise<number[]> => {
  const paths = await perClient(bench, samples, (client) => `/console/access?client=${client}`);
  return measureScreens(bench, paths, `document.querySelectorAll('td input[type=checkbox]').length > 20`);
};

const measureUsage = async (bench: Bench, samples: number): Promise<number[]> => {
  const pathOf = (client: number) => `/console/usage?client=${client}&interval=month&periods=12`;
  const isShown = `document.querySelector('h1')?.textContent === 'Usage' && document.querySelector('main [role=img] svg polyline')`;
  return measureScreens(bench, await perClient(bench, samples, pathOf), isShown);
};

const measureClient = async (bench: Bench, samples: number): Promise<number[]> => {
  const paths = await perClient(bench, samples, (client) => `/console/clients/${client}`);
  return measureScreens(bench, paths, `document.querySelector('main form[aria-label=General] input')`);
};

const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') resolve(startTime);
  }).observe({ type: 'paint', buffered: true });
})`;

/** Of a new page: nothing is cached but the session. */
const measureFirstPaint = async ({ openCold }: Bench, samples: number): Promise<number[]> => {
  const times: number[] = [];
  while (times.length < samples) {
    const page = await openCold();
    await openHome(page);
    times.push(await page.evaluate<number>(FIRST_PAINT));
    await page.context().close();
  }
  return times;
};

/** Of all scripts that Home loads. The same each time. */
const measureScripts = async ({ openCold }: Bench): Promise<number[]> => {
  const page = await openCold();
  const sizes: Promise<number>[] = [];
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script')
      sizes.push(response.body().then((body) => gzipSync(body, { level: 9 }).length));
  });
  await openHome(page);
  const all = await Promise.all(sizes);
  await page.context().close();
  return [all.reduce((sum, size) => sum + size, 0) / 1000];
};

const MEASURES: Measure[] = [
  { title: 'search people, until the new rows', unit: 'ms', goal: 100, take: measureSearch },
  {
    title: 'open a person of the list',
    unit: 'ms',
    goal: 80,
    take: (bench, samples) => measurePerson(bench, samples, 0),
  },
  {
    title: `the same, ${HOVER_MS} ms after the pointer has reached the link`,
    unit: 'ms',
    goal: 80,
    take: (bench, samples) => measurePerson(bench, samples, HOVER_MS),
  },
  { title: 'back to a list that was shown before', unit: 'ms', goal: 150, take: measureNavigation },
  {
    title: 'access of a client, about 1,500 people × 10 apps',
    unit: 'ms',
    goal: 200,
    take: measureMatrix,
  },
  { title: 'usage of a client over 12 months', unit: 'ms', goal: 150, take: measureUsage },
  { title: 'settings of a client', unit: 'ms', goal: 150, take: measureClient },
  { title: 'first contentful paint, cold', unit: 'ms', goal: 1000, take: measureFirstPaint },
  { title: 'scripts of Home, gzip', unit: 'kB', goal: 230, take: measureScripts },
];

const openBench = async (browser: Browser, address: string): Promise<Bench> => {
  const open = async (state?: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>) => {
    const context = await browser.newContext({
      baseURL: BASE_URL,
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
      ...(state && { storageState: state }),
    });
    // A page with an open stream is never idle.
    await context.route('**/trpc/events.stream*', (route) => route.abort());
    return context;
  };
  const context = await open();
  const page = await context.newPage();
  await page.goto('/console/');
  await fillLogin(page, ROOT, PASSWORD);
  await page.getByRole('heading', { level: 1, name: /^Hello/ }).waitFor();
  const state = await context.storageState();
  const headers = { authorization: `Token ${await logIn({ url: address })}` };
  return {
    page,
    openCold: async () => (await open(state)).newPage(),
    read: async (path) => {
      const response = await send(address, { path: `/api/v1${path}`, headers });
      return (await response.json()) as Record<string, unknown>[]; // lists of objects
    },
  };
};

const rowOf = ({ title, unit, goal }: Measure, samples: readonly number[]): string => {
  const [p50, p95] = [median(samples), quantile(samples, 0.95)];
  const verdict = p95 <= goal ? 'met' : p50 <= goal ? 'p50 met' : '**not met**';
  const figures = [p50, p95].map((value) => `${value.toFixed(unit === 'kB' ? 1 : 0)} ${unit}`);
  return `| ${[title, ...figures, `≤ ${goal} ${unit}`, verdict].join(' | ')} |`;
};

type Options = { data?: string; samples: number; write?: true };

const run = async ({ data, samples, write }: Options): Promise<void> => {
  await using cleanup = new AsyncDisposableStack();
  const dataDir = await openDataDir(data, cleanup);
  const { child, address } = await startSteward(CHECKOUT, dataDir, {});
  cleanup.defer(() => stopProcess(child));
  const browser = await launchChromium(
    `MAP steward.test ${address.replace('http://localhost', '127.0.0.1')}`,
  );
  cleanup.defer(() => browser.close());
  const bench = await openBench(browser, address);
  const rows: string[] = [];
  for (const measure of MEASURES) {
    const row = rowOf(measure, await measure.take(bench, samples));
    process.stdout.write(`${row}\n`);
    rows.push(row);
  }
  const about = `${describeMachine([])} Samples: ${samples}.`;
  const head = ['| measure | p50 | p95 | goal | result |', '| --- | --- | --- | --- | --- |'];
  if (write) await writeTables([about, '', ...head, ...rows], 'npm run bench:console');
};

await new Command('bench:console')
  .description('Measure the console in Chromium, with 100,000 users and 2,000,000 usage entries')
  .option('--data <folder>', 'data directory to keep and reuse')
  .option('--samples <n>', 'samples of each measure', parseCount, 30)
  .option('--write', 'write the table into docs/benchmarks.md')
  .action(run)
  .parseAsync()
  .catch(reportFailure);
