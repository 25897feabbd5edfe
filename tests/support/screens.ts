import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { waitForData } from './console.ts';
import { unreadable } from './readability.ts';
import { AXE, axeViolations, COLOR_RULES, RULES, SETTLED, STILL } from './screenshots.ts';
import { until } from './time.ts';

/** A folder to save screenshots in. */
const { SCREENSHOTS } = process.env;
/** A small phone, and a window of 1280 by 720 pixels at a zoom of 200 %. */
const PHONE = { width: 320, height: 640 };
const ZOOMED = { width: 640, height: 360 };
const SCHEMES = ['light', 'dark'] as const;
const LAYER = '[role=menu]:visible, [role=dialog]:visible';

export type Screen = {
  place: string;
  /** Names of buttons that open a dialog, but have no `…`, without what follows ` for`, ` of` or a colon. */
  dialogs: readonly string[];
  /** The kinds of buttons that need not be pressed again. */
  known: Set<string>;
  /** Called with what is wrong at a place. */
  report: (place: string, faults: string[]) => void;
};

/** Waits until a page that hears of no changes has got all that it asked for, and shows it. */
export const watchRequests = (page: Page) => {
  const pending = new Set<object>();
  page.on('request', (request) => {
    if (!request.url().includes('/trpc/events.')) pending.add(request);
  });
  page.on('requestfinished', (request) => pending.delete(request));
  page.on('requestfailed', (request) => pending.delete(request));
  return async (): Promise<void> => {
    do {
      await until('all requests are answered', () => pending.size === 0);
      await page.evaluate(SETTLED);
      await waitForData(page);
    } while (pending.size > 0);
  };
};

export type Settle = ReturnType<typeof watchRequests>;

const save = async (page: Page, name: string): Promise<void> => {
  const file = `${name.replaceAll(/[^\w.]+/g, '-')}.png`;
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, file) });
};

/** Reports what is wrong with what the page shows in light and in dark colors. */
const checkColors = async (
  page: Page,
  settle: Settle,
  { place, report }: Pick<Screen, 'place' | 'report'>,
  rules: Record<(typeof SCHEMES)[number], string[]>,
  without: string[] = [],
): Promise<void> => {
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    await settle();
    await save(page, `${place} ${colorScheme}`);
    report(`${place}, ${colorScheme}`, await unreadable(page));
    if (rules[colorScheme].length > 0)
      report(`${place}, ${colorScheme}`, await axeViolations(page, rules[colorScheme], without));
  }
  await page.emulateMedia({ colorScheme: 'light' });
};

/** Axe takes most of the time: it looks once at each size, and once at the colors of each scheme. */
const SIZES = [
  { size: ZOOMED, rules: { light: RULES, dark: [] } },
  { size: PHONE, rules: { light: [], dark: RULES } },
];

/** Reports what is wrong with the screen that is shown, and leaves it on a phone. */
export const checkScreen = async (page: Page, settle: Settle, { place, report }: Screen): Promise<void> => {
  await page.evaluate(STILL + AXE);
  for (const { size, rules } of SIZES) {
    await page.setViewportSize(size);
    await checkColors(page, settle, { place: `${place}, ${size.width} pixels wide`, report }, rules);
  }
};

const hasFocus = async (page: Page, element: Locator): Promise<boolean> =>
  (await element.and(page.locator(':focus, :has(:focus)')).count()) > 0;

/** `home` gets the focus back; default: what was pressed. */
type Layer = Pick<Screen, 'place' | 'report'> & { opener: Locator; home?: Locator };

/** Opens a menu or a dialog by the keyboard, reports what is wrong with it, and closes it. Returns the items of a menu. */
const checkLayer = async (
  page: Page,
  settle: Settle,
  { place, report, opener, home = opener }: Layer,
): Promise<string[]> => {
  await opener.press('Enter');
  const layer = page.locator(LAYER).last();
  await until(`${place} opens`, () => layer.isVisible());
  await settle();
  await until(`the focus is in ${place}`, () => hasFocus(page, layer));
  // A menu has no landmark around it.
  const isMenu = (await layer.getAttribute('role')) === 'menu';
  const rules = { light: RULES, dark: COLOR_RULES };
  await checkColors(page, settle, { place, report }, rules, isMenu ? ['region'] : []);
  const items = isMenu ? await layer.getByRole('menuitem').allInnerTexts() : [];
  if (isMenu) {
    // The current item has another background.
    await page.keyboard.press('End');
    report(`${place}, its last item`, await unreadable(page));
  }
  await page.keyboard.press('Escape');
  await layer.waitFor({ state: 'hidden' });
  await until(`the focus is back from ${place}`, () => hasFocus(page, home));
  return items;
};

/** Marks the buttons of the screen that Tab reaches and that open a menu or a dialog, one of each kind, and returns their names and kinds. */
const markOpeners = (page: Page, dialogs: readonly string[]) =>
  page.evaluate<{ name: string; kind: string }[]>(`(() => {
    const openers = [...document.querySelectorAll('main button')].flatMap((button) => {
      const name = (button.getAttribute('aria-label') ?? button.innerText).trim();
      const popup = button.getAttribute('aria-haspopup');
      const isOpener = popup === 'menu' || popup === 'dialog' || button.innerText.trim().endsWith('…')
        || ${JSON.stringify(dialogs)}.includes(name.replace(/(:| for | of ).*/, ''));
      if (!isOpener || button.disabled || button.tabIndex < 0 || !button.checkVisibility()) return [];
      const list = button.closest('table, [role=table], ul, ol')?.getAttribute('aria-label') ?? '';
      return [{ button, name, kind: list + name.replace(/(:| for | of ).*/, '') }];
    });
    const firsts = [...Map.groupBy(openers, ({ kind }) => kind).values()].map(([first]) => first);
    return firsts.map(({ button, ...opener }) => {
      button.dataset.opener = opener.kind;
      return opener;
    });
  })()`);

/** Opens each menu and each dialog of the screen that is shown, and reports what is wrong with them. Adds their kinds to those known. */
export const checkLayers = async (page: Page, settle: Settle, screen: Screen): Promise<void> => {
  const { place, dialogs, known, report } = screen;
  for (const { name, kind } of await markOpeners(page, dialogs)) {
    if (known.has(kind)) continue;
    known.add(kind);
    const opener = page.locator(`[data-opener=${JSON.stringify(kind)}]`);
    const items = await checkLayer(page, settle, { place: `${place}, ${name}`, opener, report });
    for (const item of items.filter((text) => text.endsWith('…'))) {
      await opener.press('Enter');
      const found = page.getByRole('menuitem', { name: item });
      await checkLayer(page, settle, { place: `${place}, ${item}`, opener: found, home: opener, report });
    }
  }
};
