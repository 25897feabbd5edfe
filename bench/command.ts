import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { reportFailure } from '../src/cli/failures.ts';
import { DAY_MS } from '../src/lib/clock.ts';
import { ResponsesDiffer } from './comparison/response-equivalence.ts';
import { InvalidPlan, type Plan } from './data/plan.ts';

export const printLine = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

export const parseCount = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Expected a positive integer.');
  return Number(text);
};

/** Parses a comma-separated list of names into the items that have them, in the order of `items`. */
export const parseNames =
  <T>(items: readonly T[], nameOf: (item: T) => string) =>
  (text: string): T[] => {
    const names = text.split(',');
    const unknown = names.find((name) => !items.some((item) => nameOf(item) === name));
    if (unknown !== undefined) {
      throw new InvalidArgumentError(
        `Unknown name "${unknown}"; expected any of ${items.map(nameOf).join(', ')}.`,
      );
    }
    return items.filter((item) => names.includes(nameOf(item)));
  };

/** `--only` with the names of some of `items`; without it, all are measured. */
export const onlyOption = <T extends { name: string }>(what: string, items: readonly T[]): Option =>
  new Option(`--only <${what}>`, items.map(({ name }) => name).join(',')).argParser(
    parseNames(items, ({ name }) => name),
  );

export const lastMidnight = (): Date => new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS);

/** The data behind the figures in docs/benchmarks.md. */
export const defaultPlan = (): Plan => ({
  users: 100_000,
  apps: 200,
  clients: 20,
  entries: 2_000_000,
  hotEntries: 0,
  days: 120,
  seed: 1,
  until: lastMidnight(),
});

const DOCUMENT = join(import.meta.dirname, '../docs/benchmarks.md');
const DATE_FORMAT = { day: 'numeric', month: 'long', year: 'numeric' } as const;

/** Writes the tables of a command into docs/benchmarks.md. */
export const writeTables = async (lines: readonly string[], command: string): Promise<void> =>
  writeFile(DOCUMENT, replaceTables(await readFile(DOCUMENT, 'utf8'), lines, command));

/** Replaces the text of a document between the two markers of a command. */
export const replaceTables = (document: string, lines: readonly string[], command: string): string => {
  const begin = `<!-- begin: ${command} -- --write -->`;
  const end = `<!-- end: ${command} -- --write -->`;
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The document lacks the markers ${begin} and ${end}.`);
  return [document.slice(0, from) + begin, '', ...lines, '', document.slice(to)].join('\n');
};

/** The date, the machine and the versions with which tables were measured. */
export const describeMachine = (versions: readonly string[] = []): string => {
  const parts = [
    `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${availableParallelism()} cores`,
    `${Math.round(totalmem() / 1e9)} GB`,
    `Node ${process.versions.node}`,
    ...versions,
  ];
  return `${new Date().toLocaleDateString('en-GB', DATE_FORMAT)}: ${parts.join(', ')}.`;
};

class Interrupted extends Error {}

const rejectOnSignal = (): Promise<never> =>
  new Promise((_resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Interrupted()));
  });

/** Runs `work` and disposes its resources, also on SIGINT and SIGTERM: the servers are child processes. */
export const withCleanup = async (work: (cleanup: AsyncDisposableStack) => Promise<void>): Promise<void> => {
  await using cleanup = new AsyncDisposableStack();
  await Promise.race([work(cleanup), rejectOnSignal()]);
};

/** Sets the exit code. Expected failures print their message; all others are reported like those of `steward`. */
export const reportBenchFailure = (error: unknown): void => {
  if (error instanceof Interrupted) process.exit(130);
  const expected = [ResponsesDiffer, InvalidArgumentError, InvalidPlan];
  if (error instanceof Error && expected.some((type) => error instanceof type)) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else reportFailure(error);
};
