import { Command, Option } from 'commander';
import { defaultPlan, parseCount, printLine, reportBenchFailure, withCleanup } from './command.ts';
import { generateLoad } from './comparison/load.ts';
import { rest } from './comparison/requests.ts';
import { type Environment, openEnvironment } from './environment.ts';
import { measureCosts } from './processes.ts';
import { measureIngestion } from './usage/ingestion.ts';
import { measureStreams } from './usage/streams.ts';

const PARTS = ['streams', 'lists', 'writing'] as const;
type Part = (typeof PARTS)[number];

const LIST_REQUESTS = 300;
/** One site per app. */
const SITES = 200;

const HELP = `
Without --data, the data is created in a temporary folder. With --data, a folder that already has data is reused,
including the entries written to it. With DATABASE_URL, that database is filled or reused.`;

type Options = {
  data?: string;
  only?: Part;
  reads: number;
  seconds: number;
  connections: number;
  writeApps: number;
  profile?: string;
};

const measureUsage = async (options: Options, cleanup: AsyncDisposableStack): Promise<void> => {
  const { data: dataDir, only, reads, seconds, connections, writeApps, profile } = options;
  const nodeOptions = profile ? `--cpu-prof --cpu-prof-dir=${profile}` : '';
  const plan = { ...defaultPlan(), hotEntries: 1_000_000 };
  const environment = await openEnvironment({ dataDir, plan, nodeOptions }, cleanup);
  const isSelected = (part: Part): boolean => only === undefined || only === part;

  if (isSelected('streams')) await measureStreams(environment, reads, printLine);
  if (isSelected('lists')) await measureLists(environment);
  if (isSelected('writing')) {
    await measureIngestion(environment, { connections, apps: writeApps, seconds }, printLine);
  }
};

/** Compares the list of apps, which includes usage, with the list of sites. */
const measureLists = async (environment: Environment): Promise<void> => {
  await addSites(environment);
  const { service, token, postmaster } = environment;
  const url = new URL(service.address).origin;
  for (const name of ['apps', 'sites']) {
    const call = { method: 'GET', path: `/jb/${name}/`, procedure: '', input: {} } as const;
    const load = {
      url,
      requests: [rest.build([call], token)],
      connections: 1,
      seconds: 0,
      amount: LIST_REQUESTS,
    };
    await generateLoad(load);
    const { result, costs } = await measureCosts([service.pid], postmaster, () => generateLoad(load));
    const perRequest = (seconds: number): string => ((seconds * 1000) / LIST_REQUESTS).toFixed(2);
    printLine(
      `${name}: median ${result.p50.toFixed(2)} ms, ${Math.round(result.bytes / result.responses)} bytes`,
    );
    printLine(
      `  CPU per request: service ${perRequest(costs.serverSeconds)} ms, PostgreSQL ${perRequest(costs.postgresSeconds)} ms`,
    );
  }
};

const addSites = async ({ service, token }: Environment): Promise<void> => {
  const { json } = await service.send('GET /jb/sites/', { token });
  for (let index = json.length; index < SITES; index += 1) {
    const body = { domain: `site-${index}.bench.test`, name: `Site ${index}` };
    const { status } = await service.send('POST /jb/sites/', { token, body });
    if (status !== 201) throw new Error(`Creating a site failed with status ${status}.`);
  }
};

await new Command('bench:usage')
  .description('Measure how usage entries are read and written')
  .option('--data <folder>', 'data directory to keep and reuse')
  .addOption(new Option('--only <part>', 'run only this part').choices(PARTS))
  .option('--reads <n>', 'number of reads of a log', parseCount, 5)
  .option('--seconds <n>', 'duration of writing', parseCount, 30)
  .option('--connections <n>', 'connections for writing', parseCount, 8)
  .option('--write-apps <n>', 'number of apps to write to', parseCount, 8)
  .option('--profile <folder>', "write the service's CPU profile to a folder")
  .addHelpText('after', HELP)
  .action((options: Options) => withCleanup((cleanup) => measureUsage(options, cleanup)))
  .parseAsync()
  .catch(reportBenchFailure);
