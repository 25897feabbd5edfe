import { measureFirstPaint, measureHeading, measureScripts } from './cold-start.ts';
import type { ConsoleBrowser } from './console-browser.ts';
import { measurePerson, measureSearch } from './people.ts';
import { measureMatrix, measureUsage } from './screens.ts';

export type Measure = {
  name: string;
  title: string;
  unit: 'ms' | 'kB';
  /** The largest value that is good enough. */
  goal: number;
  take: (console: ConsoleBrowser, samples: number) => Promise<number[]>;
};

export const MEASURES: Measure[] = [
  { name: 'search', title: 'search people, until the new rows', unit: 'ms', goal: 150, take: measureSearch },
  { name: 'person', title: 'open a person of the list', unit: 'ms', goal: 150, take: measurePerson },
  {
    name: 'matrix',
    title: 'access of a client, about 1,500 people × 12 apps',
    unit: 'ms',
    goal: 400,
    take: measureMatrix,
  },
  { name: 'usage', title: 'usage of a client over 12 months', unit: 'ms', goal: 300, take: measureUsage },
  { name: 'paint', title: 'first contentful paint, cold', unit: 'ms', goal: 1000, take: measureFirstPaint },
  { name: 'heading', title: 'heading of Home, cold', unit: 'ms', goal: 1000, take: measureHeading },
  { name: 'scripts', title: 'scripts of Home, gzip', unit: 'kB', goal: 250, take: measureScripts },
];
