import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { goTo, openConsole, resizeTo } from '../support/console.ts';
import { ADA } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const reading = browserSuite('the reading order of the console');

const OUTLINE = /^(main$|(navigation|region|form|group|list|table|tablist|tabpanel|heading) ")/;
const NAMED = ['button', 'link', 'textbox', 'searchbox', 'combobox', 'checkbox', 'switch', 'radio', 'tab'];
const UNNAMED_CONTROL = new RegExp(`^(${NAMED.join('|')})(?![a-z]| ")`);

/** The accessibility tree in the order in which it is read: `button "Save" [disabled]`. */
const spokenIn = async (page: Page, part: string): Promise<string[]> => {
  const lines = (await page.locator(part).ariaSnapshot()).split('\n');
  return lines.map((line) =>
    line
      .trim()
      .replace(/^- '?/, '')
      .replace(/'?:( .*)?$/, ''),
  );
};

/** Landmarks, headings, tables and what else has a name and holds others. */
const outlineOf = async (page: Page, part = 'main'): Promise<string[]> =>
  (await spokenIn(page, part)).filter((line) => OUTLINE.test(line));

/** Readers say nothing of pictures in buttons. */
const unnamedOf = async (page: Page): Promise<string[]> =>
  (await spokenIn(page, 'body')).filter(
    (line, index, all) =>
      UNNAMED_CONTROL.test(line) || (line === 'img' && !all[index - 1]?.startsWith('button')),
  );

type Place = { name: string; middle: number; left: number };

/** Buttons of one line differ in height. */
const TOLERANCE_PX = 12;

/** Headings and controls that are read after one that is shown below them in the same column. */
const misplacedOf = async (page: Page): Promise<string[]> => {
  const places = await page.evaluate<Place[]>(`
    [...document.querySelectorAll('main :is(h1, h2, h3, button, a, input, textarea)')]
      .filter((element) => element.checkVisibility())
      .map((element) => {
        const { top, bottom, left } = element.getBoundingClientRect();
        return { name: element.textContent || element.ariaLabel, middle: (top + bottom) / 2, left };
      })`);
  return places.flatMap(({ name, middle, left }, index) => {
    const before = places[index - 1];
    const isAbove = before && middle < before.middle - TOLERANCE_PX && left <= before.left;
    return isAbove ? [`${name} after ${before.name}`] : [];
  });
};

const levelsOf = (outline: readonly string[]): number[] =>
  outline.flatMap((line) => Number(/\[level=(\d)\]/.exec(line)?.[1] ?? [])).filter(Boolean);

/** Elements whose description is a part of their content, which is read twice. */
const countSaidTwice = (page: Page): Promise<number> =>
  page.evaluate(`
    [...document.querySelectorAll('[aria-describedby]')].filter((element) =>
      element.getAttribute('aria-describedby').split(' ')
        .some((id) => element.contains(document.getElementById(id) ?? document))).length`);

const SCREENS: Record<string, { path: string; outline: [string, ...string[]] }> = {
  Home: {
    path: '/console/',
    outline: [
      'heading "Hello Alex" [level=1]',
      'heading "For your attention" [level=2]',
      'heading "Last 28 days" [level=2]',
      'region "Actions by day"',
      'heading "Actions by day" [level=3]',
      'heading "Your apps" [level=2]',
      'heading "Sales" [level=3]',
      'heading "Churn" [level=3]',
    ],
  },
  People: {
    path: '/console/people',
    outline: [
      'heading "People" [level=1]',
      'group "Filters"',
      'region "People, scrollable"',
      'table "People"',
    ],
  },
  'a person': {
    path: `/console/people/${ADA}`,
    outline: [
      'heading "Ada Lovelace" [level=1]',
      'tablist "About this person"',
      'tabpanel "Access"',
      'region "Apps"',
      'heading "Has 2 apps" [level=2]',
      'region "Groups"',
      'heading "Groups" [level=2]',
      'region "Clients"',
      'heading "Clients" [level=2]',
      'region "Usage, 28 days"',
      'heading "Usage, 28 days" [level=2]',
    ],
  },
  'an app': {
    path: `/console/apps/${SALES}`,
    outline: [
      'heading "Sales" [level=1]',
      'tablist "About this app"',
      'tabpanel "Overview"',
      'form "Maintenance"',
      'heading "Maintenance" [level=2]',
      'region "Access requests"',
      'heading "Access requests" [level=2]',
      'heading "Top people" [level=2]',
      'table "Top people"',
      'heading "Page groups" [level=2]',
      'heading "Usage per day" [level=2]',
    ],
  },
  Invite: {
    path: '/console/invite',
    outline: [
      'heading "Invite people" [level=1]',
      'region "Who"',
      'heading "Who" [level=2]',
      'region "For everyone in the list"',
      'heading "The list is empty" [level=2]',
    ],
  },
};

reading('of each screen is that of the screen, with a name for everything', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await resizeTo(page, { width: 1280, height: 900 });
  await openConsole(page, '/console/account');
  await waitForHeading(page, 'Account');
  for (const [name, { path, outline }] of Object.entries(SCREENS)) {
    await goTo(page, path);
    // What is below the head may be painted later.
    const last =
      /heading "(.*)"/.exec(outline.findLast((line) => line.startsWith('heading')) ?? '')?.[1] ?? '';
    await page.getByRole('heading', { name: last, exact: true }).first().waitFor();
    const found = await outlineOf(page);
    const levels = levelsOf(found);
    assert.equal(found, ['main', ...outline], name);
    assert.is(levels.filter((level) => level === 1).length, 1, name);
    for (const [index, level] of levels.entries())
      assert.ok(level <= (levels[index - 1] ?? 0) + 1, `${name} leaves no level out`);
    assert.equal(await unnamedOf(page), [], name);
    assert.equal(await misplacedOf(page), [], name);
    assert.is(await countSaidTwice(page), 0, name);
  }

  await goTo(page, '/console/people');
  assert.equal(await outlineOf(page, 'nav'), [
    'navigation "Main"',
    ...['People', 'Apps', 'Insight', 'Settings'].map((section) => `list "${section}"`),
  ]);
  const current = page.locator('nav [aria-current="page"]');
  assert.equal(await current.allTextContents(), ['People']);
  const header = page.getByRole('rowheader', { name: `Ada Lovelace ${ADA}` });
  await page.getByRole('row').filter({ has: header }).getByRole('cell', { name: 'Active' }).waitFor();

  await goTo(page, `/console/people/${ADA}`);
  await page.getByRole('button', { name: 'See as Ada' }).click();
  const dialog = page.getByRole('dialog', { name: 'What Ada Lovelace sees after login' });
  await dialog.getByRole('listitem').nth(1).waitFor();
  assert.equal(await outlineOf(page, '[role=dialog]'), [
    'heading "What Ada Lovelace sees after login" [level=2]',
  ]);
  assert.equal(await unnamedOf(page), []);
});

reading.run();
