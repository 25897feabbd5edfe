import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { reportFailure } from '../src/cli/failures.ts';
import { keepDatabaseState } from './comparison/database-state.ts';
import { median } from './comparison/load.ts';
import { createMeasure, describeProgress, type Measurement } from './comparison/measure.ts';
import {
  canRun,
  createWindowsView,
  djangoVersions,
  logIn,
  OTHER_PEERS,
  type Peer,
  startDjango,
  startNodePeer,
  startStewardPeer,
} from './comparison/peers.ts';
import { compareResponses } from './comparison/response-equivalence.ts';
import { takeSamples } from './comparison/samples.ts';
import { SCENARIOS } from './comparison/scenarios.ts';
import { describeMachine, figuresTable, goalsTable, summarize, writeTables } from './comparison/tables.ts';
import {
  type BenchDatabase,
  openDatabase,
  openDataDir,
  parseCount,
  startSteward,
  stopProcess,
} from './environment.ts';

const CHECKOUT = join(import.meta.dirname, '..');
const STARTS = 5;
const HELP = `
Without --data, the data is created in a temporary folder. With --data, a folder that already has data is reused.
Peers alternate. Responses and written rows are compared first; any difference ends the run.`;

type Options = {
  data?: string;
  before?: string;
  only?: readonly string[];
  peers: readonly (typeof OTHER_PEERS)[number][] | false;
  rounds: number;
  seconds: number;
  write?: true;
  profile?: string;
};

const printLine = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const compare = async (options: Options, cleanup: AsyncDisposableStack): Promise<void> => {
  const dataDir = await openDataDir(options.data, cleanup);
  const startMs = await measureStart(CHECKOUT, dataDir);
  printLine(`Starts in ${startMs.toFixed(0)} ms with its database.`);
  if (options.before) {
    const before = await measureStart(resolve(options.before), dataDir);
    printLine(`Before: ${before.toFixed(0)} ms.`);
  }

  const scenarios = SCENARIOS.filter(({ name }) => options.only?.includes(name) ?? true);
  const database = await openDatabase(dataDir, cleanup);
  const { peers, token, versions } = await startPeers(database, { ...options, dataDir }, cleanup);
  const samples = await takeSamples(database.client);
  const emails = samples.members.map(({ email }) => email);
  const state = await keepDatabaseState(database.client, emails);
  for (const scenario of scenarios) {
    const able = peers.filter((peer) => canRun(peer, scenario));
    await compareResponses(scenario, able, { samples, state, token });
    printLine(`${scenario.name}: equal responses from ${able.map(({ name }) => name).join(', ')}`);
  }

  const measure = createMeasure({ postmaster: database.postmaster, token, samples, state });
  const measurements: Measurement[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const scenario of scenarios) {
      for (const peer of peers.filter((each) => canRun(each, scenario))) {
        const measurement = await measure({ scenario, peer, round, seconds: options.seconds });
        measurements.push(measurement);
        printLine(describeProgress(measurement));
      }
    }
  }

  const figures = summarize(measurements);
  const about = `${describeMachine(versions)} Rounds: ${options.rounds} of ${options.seconds} s.`;
  const lines = [about, '', ...figuresTable(figures), '', ...goalsTable(figures, startMs)];
  printLine(['', ...lines].join('\n'));
  if (options.write) await writeTables(lines);
};

/** The median time until a service with the embedded database is ready. */
const measureStart = async (checkout: string, dataDir: string): Promise<number> => {
  const times: number[] = [];
  while (times.length < STARTS) {
    const { child, startMs } = await startSteward(checkout, dataDir, {});
    await stopProcess(child);
    times.push(startMs);
  }
  return median(times);
};

type PeerOptions = Pick<Options, 'before' | 'peers' | 'profile'> & { dataDir: string };

const startPeers = async (
  database: BenchDatabase,
  { before, peers: names, profile, dataDir }: PeerOptions,
  cleanup: AsyncDisposableStack,
) => {
  const { rows } = await database.client.query(`select current_setting('server_version') as version`);
  const versions = [`PostgreSQL ${rows[0].version}`];
  const options = { checkout: CHECKOUT, dataDir, profile: profile && resolve(profile) };
  const steward = await startStewardPeer('steward', database, options, cleanup);
  const token = await logIn(steward);
  const peers: Peer[] = [steward];
  if (before) {
    const old = { checkout: resolve(before), dataDir, profile: undefined };
    peers.push(await startStewardPeer('before', database, old, cleanup));
  }
  await createWindowsView(database, cleanup);
  for (const name of names || []) {
    if (name !== 'django') {
      peers.push(await startNodePeer(name, database, cleanup));
      continue;
    }
    const django = await djangoVersions();
    if (django === null) {
      printLine(
        'Skipping django: install python3-django, python3-djangorestframework, python3-psycopg2 and gunicorn.',
      );
      continue;
    }
    versions.push(django);
    peers.push(await startDjango(database, token, cleanup));
  }
  return { peers, token, versions };
};

class Interrupted extends Error {}

const rejectOnSignal = (): Promise<never> =>
  new Promise((_resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Interrupted()));
  });

/** The servers are child processes: they end with the run, also on SIGINT and SIGTERM. */
const run = async (options: Options): Promise<void> => {
  await using cleanup = new AsyncDisposableStack();
  await Promise.race([compare(options, cleanup), rejectOnSignal()]);
};

const reportBenchFailure = (error: unknown): void => {
  if (error instanceof Interrupted) process.exit(130);
  reportFailure(error);
};

await new Command('bench')
  .description('Compare the performance of Steward and of peers that give equal responses')
  .option('--data <folder>', 'data directory to keep and reuse')
  .option('--before <checkout>', 'also run the Steward of another checkout, which has its node_modules')
  .addOption(new Option('--only <scenarios...>').choices(SCENARIOS.map(({ name }) => name)))
  .addOption(new Option('--peers <names...>').choices(OTHER_PEERS).default(OTHER_PEERS))
  .option('--no-peers', 'measure Steward alone')
  .option('--rounds <n>', 'number of rounds', parseCount, 3)
  .option('--seconds <n>', 'duration of each measurement', parseCount, 3)
  .option('--write', 'write the tables into docs/benchmarks.md')
  .option('--profile <folder>', "write Steward's CPU profile to a folder")
  .addHelpText('after', HELP)
  .action(run)
  .parseAsync()
  .catch(reportBenchFailure);
