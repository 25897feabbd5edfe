import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { contrast } from './contrast.ts';

type Colored = { name: string; colors: string[]; behind: string[] };
type Seen = { overflow: number; cut: string[]; edges: Colored[]; texts: Colored[] };

const SCRIPT = await readFile(join(import.meta.dirname, 'readability.js'), 'utf8');
/** Of WCAG 2.2: 1.4.11 for the edges of fields, 1.4.3 for texts. */
const MIN_EDGE = 3;
const MIN_TEXT = 4.5;

const faint = (found: Colored[], min: number): string[] =>
  found.flatMap(({ name, colors, behind }) => {
    const best = Math.max(...colors.map((color) => contrast(color, behind)));
    return best < min ? [`contrast ${best.toFixed(2)}: ${name}`] : [];
  });

/** What cannot be read in the open dialog, or if there is none, on the whole page. */
export const unreadable = async (page: Page): Promise<string[]> => {
  const { overflow, cut, edges, texts } = await page.evaluate<Seen>(`${SCRIPT}; seen()`);
  return [
    ...(overflow > 0 ? [`the page is ${overflow} pixels too wide`] : []),
    ...cut.map((text) => `cut ${text}`),
    ...faint(edges, MIN_EDGE),
    ...faint(texts, MIN_TEXT),
  ];
};
