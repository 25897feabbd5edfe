import { type ConsoleBrowser, watchPage } from './console-browser.ts';

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
