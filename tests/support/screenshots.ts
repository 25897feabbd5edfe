import { join } from 'node:path';
import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { TestBrowser } from './browser.ts';
import type { TestApp } from './test-app.ts';

/** Set it to a folder to look at every page yourself. */
const { SCREENSHOTS } = process.env;
const WIDTHS_PX = [1280, 390];
const HEIGHT_PX = 844;
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** How somebody comes to a page. */
export type Way = (page: Page, app: TestApp) => Promise<unknown>;

/** One test a page: axe finds nothing, in light and in dark; it fits wide and narrow; paper gets no form. */
export const testLooks = (
  tests: Test<{ app: TestApp; browser: TestBrowser }>,
  ways: Record<string, Way>,
): void => {
  for (const [name, way] of Object.entries(ways)) {
    tests(`${name} has nothing that axe objects to, fits, and prints no form`, async ({ app, browser }) => {
      await using visit = await browser.open();
      const { page } = visit;
      await way(page, app);
      await page.evaluate(axe.source);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of WIDTHS_PX) await fits(page, width, `${name}-${width}-${colorScheme}`);
        // In the dark only the colors are others.
        assert.equal(await objections(page, colorScheme === 'light' ? RULES : COLOR_RULES), [], colorScheme);
      }
      await page.emulateMedia({ media: 'print' });
      assert.is(await page.locator('form:visible').count(), 0);
    });
  }
};

const fits = async (page: Page, width: number, name: string): Promise<void> => {
  await page.setViewportSize({ width, height: HEIGHT_PX });
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
  const overflow = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  assert.is(overflow, 0, name);
};

/** What axe finds, with the elements. It was put there from outside: the page itself allows no script. */
const objections = async (page: Page, runOnly: string[]): Promise<string[]> => {
  const options = JSON.stringify({ runOnly });
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
};
