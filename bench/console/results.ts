import type { ConsoleBrowser } from './console-browser.ts';

export type Measure = {
  name: string;
  title: string;
  unit: 'ms' | 'kB';
  /** The largest value that is good enough. */
  goal: number;
  take: (console: ConsoleBrowser, samples: number) => Promise<number[]>;
};

export type Result = { measure: Measure; best: number; p50: number; p95: number };

/** The smallest value that this share of the samples does not exceed. */
const percentile = (samples: readonly number[], share: number): number =>
  samples.toSorted((a, b) => a - b)[Math.ceil(share * samples.length) - 1] ?? Number.NaN;

export const resultOf = (measure: Measure, samples: readonly number[]): Result => ({
  measure,
  best: Math.min(...samples),
  p50: percentile(samples, 0.5),
  p95: percentile(samples, 0.95),
});

const verdictOf = ({ measure: { goal }, p50, p95 }: Result): string => {
  if (p95 <= goal) return 'met';
  return p50 <= goal ? 'p50 met' : '**not met**';
};

/** For the output during a run. */
export const describeResult = ({ measure: { name, unit }, best, p50, p95 }: Result): string =>
  `${name}: best ${Math.round(best)} ${unit}, p50 ${Math.round(p50)} ${unit}, p95 ${Math.round(p95)} ${unit}`;

export const resultsTable = (results: readonly Result[]): string[] => [
  '| measure | fastest | p50 | p95 | goal | result |',
  '| --- | --- | --- | --- | --- | --- |',
  ...results.map((result) => {
    const { measure, best, p50, p95 } = result;
    const inUnits = (value: number): string => `${Math.round(value)} ${measure.unit}`;
    const cells = [measure.title, ...[best, p50, p95].map(inUnits), `≤ ${inUnits(measure.goal)}`];
    return `| ${[...cells, verdictOf(result)].join(' | ')} |`;
  }),
];
