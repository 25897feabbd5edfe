import { gzipSync } from 'node:zlib';
import type { Page, Response } from 'playwright-core';
import type { ConsoleBrowser } from './console-browser.ts';

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
