import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { BrowserSuite, TestBrowser } from './browser.ts';
import type { TestApp } from './test-app.ts';

/** A folder to save screenshots in. */
const { SCREENSHOTS } = process.env;
const DESKTOP = { width: 1280, height: 844 };
const PHONE = { width: 390, height: 844 };
export const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
export const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
/** Colors change at once, not in a transition that axe would see half done. */
export const STILL = `{
  const still = new CSSStyleSheet();
  still.replaceSync('*, ::before, ::after { transition: none !important; }');
  document.adoptedStyleSheets.push(still);
}`;
/** Resolves once scripts have seen the size and the colors of the window. */
export const SETTLED = `(async () => {
  const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  do await frame();
  while ((document.documentElement.dataset.mantineColorScheme ?? scheme) !== scheme);
  await frame();
})()`;
export const AXE = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The steps that open a page. */
export type Steps = (page: Page, app: TestApp) => Promise<unknown>;

/**
 * Adds a test for each page, which looks good. All pages of a suite are opened in the same tab, because a new one would load and
 * compile every script again.
 */
export const testAppearance = (tests: BrowserSuite, pages: Record<string, Steps>): void => {
  let visit: Awaited<ReturnType<TestBrowser['open']>> | undefined;
  for (const [name, open] of Object.entries(pages)) {
    tests.withoutPage(
      `${name} is accessible, fits the screen and prints no form`,
      async ({ app, browser }) => {
        visit ??= await browser.open(tests.expected);
        const { page } = visit;
        // A screen that reloads its data would find itself logged out.
        await page.goto('about:blank');
        await page.context().clearCookies();
        await open(page, app);
        await assertLooksGood(page, name);
        visit.check();
      },
    );
  }
};

/**
 * Checks what a page shows: axe finds no violations, on desktops in light mode and on phones in dark mode; nothing overflows; and no
 * form is printed. The page stays as it was.
 */
export const assertLooksGood = async (page: Page, name: string): Promise<void> => {
  const viewport = page.viewportSize() ?? DESKTOP;
  await page.evaluate(STILL + AXE);
  for (const [size, colorScheme, rules] of [
    [PHONE, 'dark', COLOR_RULES],
    [DESKTOP, 'light', RULES],
  ] as const) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    await page.evaluate(SETTLED);
    if (SCREENSHOTS)
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${size.width}.png`), fullPage: true });
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    assert.is(overflow, 0, `${name}, ${size.width} pixels wide`);
    assert.equal(await axeViolations(page, rules), [], `${name} in ${colorScheme} mode`);
  }
  await page.emulateMedia({ media: 'print' });
  assert.is(await page.locator('form:visible').count(), 0, `${name} in print`);
  await page.emulateMedia({ media: 'screen' });
  await page.setViewportSize(viewport);
};

/** The violations of rules with these tags that axe finds, with their elements. Axe was injected, because the page itself allows no scripts. */
export const axeViolations = async (
  page: Page,
  runOnly: string[],
  without: string[] = [],
): Promise<string[]> => {
  // Previews are sandboxed frames, which axe cannot examine: it would wait for an answer from each.
  const rules = Object.fromEntries(without.map((rule) => [rule, { enabled: false }]));
  const common = { resultTypes: ['violations'], preload: false, iframes: false };
  const options = JSON.stringify({ ...common, runOnly, rules });
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
};
