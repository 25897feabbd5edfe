import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import {
  defaultPlan,
  describeMachine,
  onlyOption,
  parseCount,
  parseNames,
  printLine,
  reportBenchFailure,
  withCleanup,
  writeTables,
} from './command.ts';
import { createMeasure, describeProgress, type Measurement } from './comparison/measure.ts';
import { PEERS, type StartedPeer } from './comparison/peers.ts';
import { SCENARIOS, type Scenario } from './comparison/scenarios.ts';
import { figuresTable, goalsTable, summarize } from './comparison/tables.ts';
import { openTestbed, type Testbed } from './comparison/testbed.ts';

const DEFAULTS = { peers: [...PEERS], rounds: 3, seconds: 5 };
const QUICK: typeof DEFAULTS = { peers: ['steward'], rounds: 1, seconds: 2 };

const HELP = `
Without --data, the data is created in a temporary folder. With --data, a folder that already has data is reused.
With DATABASE_URL, that database is filled or reused; its CPU time is not measured.`;

type Options = {
  data?: string;
  only?: readonly Scenario[];
  peers: StartedPeer[];
  rounds: number;
  seconds: number;
  profile?: string;
  json?: string;
  write?: true;
};

const compare = async (options: Options, cleanup: AsyncDisposableStack): Promise<void> => {
  const { data: dataDir, only: scenarios = SCENARIOS, peers, rounds, seconds, profile, json } = options;
  const nodeOptions = profile ? `--cpu-prof --cpu-prof-dir=${profile}` : '';
  const testbed = await openTestbed(
    { dataDir, plan: defaultPlan(), nodeOptions, peers, scenarios },
    printLine,
    cleanup,
  );
  const measurements = await measureRounds(testbed, rounds, seconds);

  const figures = summarize(measurements);
  const machine = describeMachine([await postgresVersion(testbed), ...testbed.versions]);
  const about = `${machine} Rounds: ${rounds} of ${seconds} s.`;
  const lines = [about, '', ...figuresTable(figures), '', ...goalsTable(figures)];
  printLine(['', ...lines].join('\n'));
  if (json) await writeFile(json, `${JSON.stringify({ about, measurements }, null, 2)}\n`);
  if (options.write) await writeTables(lines, 'npm run bench');
};

/** Peers alternate, so that other load on the machine affects all of them. */
const measureRounds = async (testbed: Testbed, rounds: number, seconds: number): Promise<Measurement[]> => {
  const measure = createMeasure(testbed);
  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const { scenario, peers } of testbed.scenarios) {
      for (const connections of scenario.connections) {
        for (const peer of peers) {
          const measurement = await measure({ scenario, connections, peer, round, seconds });
          measurements.push(measurement);
          printLine(describeProgress(measurement));
        }
      }
    }
  }
  return measurements;
};

const postgresVersion = async ({ environment }: Testbed): Promise<string> => {
  const { rows } = await environment.database.query<{ version: string }>(
    `select current_setting('server_version') as version`,
  );
  return `PostgreSQL ${rows[0]?.version ?? ''}`;
};

await new Command('bench')
  .description('Compare the performance of Steward and of peers that give equal responses')
  .option('--data <folder>', 'data directory to keep and reuse')
  .addOption(onlyOption('scenarios', SCENARIOS))
  .option('--peers <names>', PEERS.join(','), parseNames(PEERS, String))
  .option('--rounds <n>', `number of rounds (default: ${DEFAULTS.rounds})`, parseCount)
  .option('--seconds <n>', `duration of each measurement (default: ${DEFAULTS.seconds})`, parseCount)
  .option('--quick', 'measure one short round of Steward alone')
  .option('--write', 'write the tables into docs/benchmarks.md')
  .option('--json <file>', 'write all measurements to a file')
  .option('--profile <folder>', "write Steward's CPU profile to a folder")
  .addHelpText('after', HELP)
  .action(({ quick, ...options }: Partial<Options> & { quick?: true }) =>
    withCleanup((cleanup) => compare({ ...(quick ? QUICK : DEFAULTS), ...options }, cleanup)),
  )
  .parseAsync()
  .catch(reportBenchFailure);
