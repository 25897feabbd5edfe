import { Command } from 'commander';
import {
  defaultPlan,
  describeMachine,
  onlyOption,
  parseCount,
  printLine,
  reportBenchFailure,
  withCleanup,
  writeTables,
} from './command.ts';
import { openConsoleBrowser } from './console/console-browser.ts';
import { describeResult, type Measure, resultOf, resultsTable } from './console/results.ts';
import {
  measureFirstPaint,
  measureHeading,
  measureMatrix,
  measurePerson,
  measureScripts,
  measureSearch,
  measureUsage,
} from './console/screens.ts';
import type { Plan } from './data/plan.ts';
import { openEnvironment } from './environment.ts';

const MEASURES: Measure[] = [
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

/** Twelve apps for each client, the smallest of which have about 1,500 people, and a year of usage. */
const consolePlan = (): Plan => ({ ...defaultPlan(), clients: 30, apps: 360, days: 365 });

const HELP = `
Without --data, the data is created in a temporary folder, which takes minutes. A folder that already has data is reused.`;

type Options = { data?: string; only?: readonly Measure[]; rounds: number; samples: number; write?: true };

const run = async (options: Options, cleanup: AsyncDisposableStack): Promise<void> => {
  const { data: dataDir, only = MEASURES, rounds, samples, write } = options;
  const environment = await openEnvironment({ dataDir, plan: consolePlan(), nodeOptions: '' }, cleanup);
  const browser = await openConsoleBrowser(environment, cleanup);
  const measured = only.map((measure) => ({ measure, all: [] as number[] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { measure, all } of measured) {
      const taken = await measure.take(browser, samples);
      all.push(...taken);
      printLine(`${round}/${rounds} ${describeResult(resultOf(measure, taken))}`);
    }
  }
  const results = measured.map(({ measure, all }) => resultOf(measure, all));
  const about = `${describeMachine()} Rounds: ${rounds} of ${samples} samples.`;
  const lines = [about, '', ...resultsTable(results)];
  printLine(['', ...lines].join('\n'));
  if (write) await writeTables(lines, 'npm run bench:console');
};

await new Command('bench:console')
  .description('Measure the console in Chromium, with 100,000 users and 2,000,000 usage entries')
  .option('--data <folder>', 'data directory to keep and reuse')
  .addOption(onlyOption('measures', MEASURES))
  .option('--rounds <n>', 'number of rounds', parseCount, 3)
  .option('--samples <n>', 'samples of each measure in a round', parseCount, 30)
  .option('--write', 'write the table into docs/benchmarks.md')
  .addHelpText('after', HELP)
  .action((options: Options) => withCleanup((cleanup) => run(options, cleanup)))
  .parseAsync()
  .catch(reportBenchFailure);
