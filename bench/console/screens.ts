import type { ConsoleBrowser } from './console-browser.ts';
import { measureNavigation } from './watch.ts';

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
