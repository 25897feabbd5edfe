import { InvalidArgumentError } from 'commander';
import { reportFailure } from '../../src/cli/failures.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import type { Plan } from '../data/plan.ts';
import { DifferentAnswers } from './sameness.ts';

export const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

export const readCount = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is not a whole number from 1.');
  return Number(text);
};

/** Reads names of a list, in the list's order. */
export const readNames =
  <T>(known: readonly T[], nameOf: (each: T) => string) =>
  (text: string): T[] => {
    const names = text.split(',');
    const stray = names.find((name) => !known.some((each) => nameOf(each) === name));
    if (stray !== undefined) {
      throw new InvalidArgumentError(`${stray} is none of ${known.map(nameOf).join(', ')}.`);
    }
    return known.filter((each) => names.includes(nameOf(each)));
  };

/** The plan of the measurements that docs/benchmarks.md tells, up to the last midnight. */
export const usualPlan = (): Plan => ({
  users: 100_000,
  apps: 200,
  clients: 20,
  entries: 2_000_000,
  hotEntries: 0,
  days: 120,
  seed: 1,
  until: new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS),
});

class Interrupted extends Error {}

/** Servers are processes of their own: they must not outlive an interrupted measurement. */
const interruption = (): Promise<never> =>
  new Promise((_resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Interrupted()));
  });

/** Does some work, and closes what it has opened, however it ends. */
export const closingAfter = async (work: (closing: AsyncDisposableStack) => Promise<void>): Promise<void> => {
  await using closing = new AsyncDisposableStack();
  await Promise.race([work(closing), interruption()]);
};

/** What was found to be wrong, or asked for wrongly, gets a line; everything else is told as the service's commands tell it. */
export const reportEnd = (error: unknown): void => {
  if (error instanceof Interrupted) process.exit(130);
  if (error instanceof DifferentAnswers || error instanceof InvalidArgumentError) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else reportFailure(error);
};
