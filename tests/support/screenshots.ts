import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { TestBrowser } from './browser.ts';
import type { TestApp } from './test-app.ts';

/** A folder to save screenshots in. */
const { SCREENSHOTS } = process.env;
const WIDTHS_PX = [1280, 390, 1920];
const HEIGHT_PX = 844;
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
/**
 * The elements that are shown, their colors, sizes of text, and whether they scroll: where these are the same, axe finds the
 * same. Waits until scripts have seen the size of the window.
 */
const SHOWN_ELEMENTS = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))).then(() =>
  [...document.querySelectorAll('*')].map((element) => {
    const { color, backgroundColor, fontSize, fontWeight } = getComputedStyle(element);
    const isShown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    const scrolls = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight;
    return [element.tagName, isShown, scrolls, color, backgroundColor, fontSize, fontWeight];
  }).join(';'))`;
const AXE = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The steps that open a page. */
export type Steps = (page: Page, app: TestApp) => Promise<unknown>;

/**
 * Adds a test for each page: on desktops and phones, axe finds no violations in light and dark mode and nothing overflows, and
 * forms are not printed. All pages of a suite are opened in the same tab, because a new one would load and compile every script
 * again.
 * @param expected errors that the steps cause in the browser
 */
export const testAppearance = (
  tests: Test<{ app: TestApp; browser: TestBrowser }>,
  pages: Record<string, Steps>,
  expected?: RegExp,
): void => {
  let visit: Awaited<ReturnType<TestBrowser['open']>> | undefined;
  for (const [name, open] of Object.entries(pages)) {
    tests(`${name} is accessible, fits the screen and prints no form`, async ({ app, browser }) => {
      visit ??= await browser.open(expected);
      const { page } = visit;
      // A screen that reloads its data would find itself logged out.
      await page.goto('about:blank');
      await page.context().clearCookies();
      // Colors change at once, not in a transition that axe would see half done.
      await page.emulateMedia({ media: 'screen', colorScheme: 'light', reducedMotion: 'reduce' });
      await open(page, app);
      await page.evaluate(AXE);
      const examined = new Set<string>();
      for (const width of WIDTHS_PX) {
        await page.setViewportSize({ width, height: HEIGHT_PX });
        const shown = await page.evaluate<string>(SHOWN_ELEMENTS);
        await assertLooksGood(page, `${name}-${width}`, { isExamined: examined.has(shown) });
        examined.add(shown);
      }
      await page.emulateMedia({ media: 'print' });
      assert.is(await page.locator('form:visible').count(), 0);
      visit.check();
    });
  }
};

/** @param isExamined whether axe has examined the same elements at another width */
const assertLooksGood = async (
  page: Page,
  name: string,
  { isExamined }: { isExamined: boolean },
): Promise<void> => {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    if (SCREENSHOTS)
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${colorScheme}.png`), fullPage: true });
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    assert.is(overflow, 0, name);
    if (isExamined) continue;
    // Dark mode only changes the colors.
    const rules = colorScheme === 'light' ? RULES : COLOR_RULES;
    let violations = await axeViolations(page, rules);
    // Scripts and transitions change colors a moment later.
    for (let tries = 0; violations.length > 0 && tries < 10; tries += 1) {
      await page.waitForTimeout(200);
      violations = await axeViolations(page, rules);
    }
    assert.equal(violations, [], `${name} in ${colorScheme} mode`);
  }
};

/** The violations that axe finds, with their elements. Axe was injected, because the page itself allows no scripts. */
const axeViolations = async (page: Page, runOnly: string[]): Promise<string[]> => {
  // Previews are sandboxed frames, which axe cannot examine: it would wait for an answer from each.
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'], preload: false, iframes: false });
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
};
