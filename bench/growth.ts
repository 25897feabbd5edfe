import { Command, InvalidArgumentError } from 'commander';
import {
  defaultPlan,
  onlyOption,
  parseCount,
  printLine,
  reportBenchFailure,
  withCleanup,
} from './command.ts';
import { createMeasure, type Measurement } from './comparison/measure.ts';
import { SCENARIOS, type Scenario } from './comparison/scenarios.ts';
import { growthTable } from './comparison/tables.ts';
import { openTestbed } from './comparison/testbed.ts';

type Size = { users: number; entries: number };
type Options = { users: number[]; entries: number[]; seconds: number; only?: readonly Scenario[] };

const HELP = `
Sizes are pairs: the first number of users with the first number of entries, and so on. The data is created in
temporary folders; a million users and ten million entries take about 10 GB and ten minutes.`;

const parseCounts = (text: string): number[] => text.split(',').map(parseCount);

const sizesOf = ({ users, entries }: Options): Size[] => {
  if (users.length !== entries.length)
    throw new InvalidArgumentError('--users and --entries need the same number of values.');
  return users.map((count, index) => ({ users: count, entries: entries[index] ?? 0 }));
};

const measureSize = async (
  size: Size,
  { only: scenarios = SCENARIOS, seconds }: Options,
  cleanup: AsyncDisposableStack,
): Promise<Measurement[]> => {
  const plan = { ...defaultPlan(), ...size };
  const testbed = await openTestbed({ dataDir: undefined, plan, peers: [], scenarios }, printLine, cleanup);
  const measure = createMeasure(testbed);
  const measurements: Measurement[] = [];
  for (const { scenario, peers } of testbed.scenarios) {
    const [connections = 1] = scenario.connections;
    for (const peer of peers) {
      measurements.push(await measure({ scenario, connections, peer, round: 1, seconds }));
    }
  }
  return measurements;
};

const measureGrowth = async (options: Options, cleanup: AsyncDisposableStack): Promise<void> => {
  const columns = [];
  for (const size of sizesOf(options)) {
    const name = `${size.users.toLocaleString('en-US')} users, ${size.entries.toLocaleString('en-US')} entries`;
    printLine(name);
    // Disposed before the next size, or with everything else after an interruption.
    const sizeCleanup = cleanup.use(new AsyncDisposableStack());
    columns.push({ name, measurements: await measureSize(size, options, sizeCleanup) });
    await sizeCleanup.disposeAsync();
  }
  printLine(['', ...growthTable(columns)].join('\n'));
};

await new Command('bench:growth')
  .description('Measure what requests cost with growing amounts of data')
  .option('--users <n,…>', 'numbers of users', parseCounts, [1_000, 10_000, 100_000])
  .option('--entries <n,…>', 'numbers of usage entries', parseCounts, [10_000, 100_000, 1_000_000])
  .option('--seconds <n>', 'duration of each measurement', parseCount, 5)
  .addOption(onlyOption('scenarios', SCENARIOS))
  .addHelpText('after', HELP)
  .action((options: Options) => withCleanup((cleanup) => measureGrowth(options, cleanup)))
  .parseAsync()
  .catch(reportBenchFailure);
