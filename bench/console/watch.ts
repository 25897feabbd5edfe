import type { Page } from 'playwright-core';

const TIMEOUT_MS = 30_000;

/**
 * Waits in the page for the next event of this type, and then for the frame that fulfills the condition, an expression. The
 * result resolves with the milliseconds between them, until that frame is painted.
 */
export const watchPage = async (page: Page, event: string, condition: string) => {
  await page.evaluate(`
    globalThis.measured = new Promise((resolve, reject) => {
      let start;
      addEventListener('${event}', ({ timeStamp }) => { start = timeStamp; }, { capture: true, once: true });
      const check = () => {
        if (start !== undefined && (${condition})) setTimeout(() => resolve(performance.now() - start));
        else requestAnimationFrame(check);
      };
      requestAnimationFrame(check);
      setTimeout(() => reject(new Error('Not shown in time.')), ${TIMEOUT_MS});
    });
    // Awaited later: an evaluation waits for the promise that it results in.
    void globalThis.measured.catch(() => {});`);
  return (): Promise<number> => page.evaluate<number>('globalThis.measured');
};

/** Measures the way to another screen of the console, which the router takes like one of its links. */
export const measureNavigation = async (page: Page, path: string, condition: string): Promise<number> => {
  const shown = await watchPage(page, 'popstate', condition);
  await page.evaluate(`
    history.pushState({}, '', ${JSON.stringify(path)});
    dispatchEvent(new PopStateEvent('popstate'));`);
  return shown();
};
