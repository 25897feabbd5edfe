import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import {
  defaultPlan,
  parseCount,
  parseNames,
  printLine,
  reportBenchFailure,
  withCleanup,
} from './command.ts';
import { replaceTables } from './comparison/tables.ts';
import { openConsoleBrowser } from './console/console-browser.ts';
import { MEASURES, type Measure } from './console/measures.ts';
import { bestOf, describeResult, type Result, resultOf, resultsTable } from './console/results.ts';
import type { Plan } from './data/plan.ts';
import { openEnvironment } from './environment.ts';

const DOCUMENT = join(import.meta.dirname, '../docs/benchmarks.md');
const COMMAND = 'npm run bench:console';
const DATE_FORMAT = { day: 'numeric', month: 'long', year: 'numeric' } as const;

/** Twelve apps for each client, the smallest of which have about 1,500 people, and a year of usage. */
const consolePlan = (): Plan => ({ ...defaultPlan(), clients: 30, apps: 360, days: 365 });

const HELP = `
Without --data, the data is created in a temporary folder, which takes minutes. A folder that already has data is reused.`;

type Options = { data?: string; only: readonly Measure[]; rounds: number; samples: number; write?: true };

const run = async (options: Options, cleanup: AsyncDisposableStack): Promise<void> => {
  const { data: dataDir, only, rounds, samples, write } = options;
  const environment = await openEnvironment({ dataDir, plan: consolePlan(), nodeOptions: '' }, cleanup);
  const browser = await openConsoleBrowser(environment, cleanup);
  const results: Result[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const measure of only) {
      const result = resultOf(measure, await measure.take(browser, samples));
      results.push(result);
      printLine(`${round}/${rounds} ${describeResult(result)}`);
    }
  }
  const about = `${describeMachine()} Rounds: ${rounds} of ${samples} samples.`;
  const lines = [about, '', ...resultsTable(bestOf(results))];
  printLine(['', ...lines].join('\n'));
  if (write) await writeFile(DOCUMENT, replaceTables(await readFile(DOCUMENT, 'utf8'), lines, COMMAND));
};

const describeMachine = (): string => {
  const date = new Date().toLocaleDateString('en-GB', DATE_FORMAT);
  return `${date}: ${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, Node ${process.versions.node}.`;
};

await new Command('bench:console')
  .description('Measure the console in Chromium, with 100,000 users and 2,000,000 usage entries')
  .option('--data <folder>', 'data directory to keep and reuse')
  .option(
    '--only <measures>',
    MEASURES.map(({ name }) => name).join(','),
    parseNames(MEASURES, ({ name }) => name),
    MEASURES,
  )
  .option('--rounds <n>', 'number of rounds', parseCount, 3)
  .option('--samples <n>', 'samples of each measure in a round', parseCount, 30)
  .option('--write', 'write the table into docs/benchmarks.md')
  .addHelpText('after', HELP)
  .action((options: Options) => withCleanup((cleanup) => run(options, cleanup)))
  .parseAsync()
  .catch(reportBenchFailure);
