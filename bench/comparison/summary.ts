import { median } from '../usage/answers.ts';
import type { Measurement } from './measuring.ts';

export type Figures = Omit<Measurement, 'round'>;

const NUMBERS = [
  'perSecond',
  'p50',
  'p99',
  'firstByte',
  'server',
  'postgres',
  'peakMb',
  'besideP99',
  'generator',
] as const;

/** The median of each number over the rounds, in the order in which kinds and peers were measured first. */
export const summarize = (measurements: readonly Measurement[]): Figures[] => {
  const groups = Map.groupBy(measurements, (m) => `${m.kind} ${m.connections} ${m.peer}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { round: _, ...figures } = first;
    for (const name of NUMBERS) figures[name] = median(group.map((measurement) => measurement[name]));
    return [figures];
  });
};
