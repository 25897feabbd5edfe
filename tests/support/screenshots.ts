import { join } from 'node:path';
import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { TestBrowser } from './browser.ts';
import type { TestApp } from './test-app.ts';

/** A folder to save screenshots in. */
const { SCREENSHOTS } = process.env;
const WIDTHS_PX = [1280, 390];
const HEIGHT_PX = 844;
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** The steps that open a page. */
export type Steps = (page: Page, app: TestApp) => Promise<unknown>;

/**
 * Adds a test for each page: axe finds no violations in light and dark mode, nothing overflows on desktop and phone, and
 * forms are not printed.
 */
export const testAppearance = (
  tests: Test<{ app: TestApp; browser: TestBrowser }>,
  pages: Record<string, Steps>,
): void => {
  for (const [name, open] of Object.entries(pages)) {
    tests(`${name} is accessible, fits the screen and prints no form`, async ({ app, browser }) => {
      await using visit = await browser.open();
      const { page } = visit;
      await open(page, app);
      await page.evaluate(axe.source);
      for (const colorScheme of ['light', 'dark'] as const) {
        // Colors change at once, not in a transition that axe would see half done.
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        for (const width of WIDTHS_PX) await assertFits(page, width, `${name}-${width}-${colorScheme}`);
        // Dark mode only changes the colors.
        assert.equal(
          await axeViolations(page, colorScheme === 'light' ? RULES : COLOR_RULES),
          [],
          colorScheme,
        );
      }
      await page.emulateMedia({ media: 'print' });
      assert.is(await page.locator('form:visible').count(), 0);
    });
  }
};

const assertFits = async (page: Page, width: number, name: string): Promise<void> => {
  await page.setViewportSize({ width, height: HEIGHT_PX });
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
  const overflow = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  assert.is(overflow, 0, name);
};

/** The violations that axe finds, with their elements. Axe was injected, because the page itself allows no scripts. */
const axeViolations = async (page: Page, runOnly: string[]): Promise<string[]> => {
  // Previews are sandboxed frames, which axe cannot examine: it would wait for an answer from each.
  const options = JSON.stringify({ runOnly, iframes: false });
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
};
