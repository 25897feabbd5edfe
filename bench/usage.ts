import { Command, InvalidArgumentError, Option } from 'commander';
import { reportFailure } from '../src/cli/failures.ts';
import { DAY_MS } from '../src/lib/clock.ts';
import { measureIngestion } from './usage/ingestion.ts';
import { measureLists } from './usage/lists.ts';
import { openPlace } from './usage/place.ts';
import { measureStreams } from './usage/streaming.ts';

const PARTS = ['streams', 'lists', 'writing'] as const;
type Part = (typeof PARTS)[number];

const HELP = `
Without --data, everything is made in a folder that is removed at the end. With it, a folder that has been filled
before is used again, with what was written to it. With DATABASE_URL, that database is filled or used.`;

type Options = {
  data?: string;
  only?: Part;
  reads: number;
  seconds: number;
  connections: number;
  writeApps: number;
  profile?: string;
};

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const readCount = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is not a whole number from 1.');
  return Number(text);
};

/** The plan of the measurements that docs/benchmarks.md tells. */
const plan = {
  users: 100_000,
  apps: 200,
  clients: 20,
  entries: 2_000_000,
  hotEntries: 1_000_000,
  days: 120,
  seed: 1,
  until: new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS),
};

const measure = async (options: Options, closing: AsyncDisposableStack): Promise<void> => {
  const { data, only, reads, seconds, connections, writeApps, profile } = options;
  const nodeOptions = profile ? `--cpu-prof --cpu-prof-dir=${profile}` : '';
  const place = await openPlace({ dataDir: data, plan, nodeOptions }, closing);
  const isWanted = (part: Part): boolean => only === undefined || only === part;

  if (isWanted('streams')) await measureStreams(place, reads, say);
  if (isWanted('lists')) await measureLists(place, say);
  if (isWanted('writing')) await measureIngestion(place, { connections, apps: writeApps, seconds }, say);
};

class Interrupted extends Error {}

/** The service is a process of its own: it must not outlive an interrupted measurement. */
const interruption = (): Promise<never> =>
  new Promise((_resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Interrupted()));
  });

const measureAndClose = async (options: Options): Promise<void> => {
  await using closing = new AsyncDisposableStack();
  await Promise.race([measure(options, closing), interruption()]);
};

await new Command('bench:usage')
  .description('measure how usage is read and written')
  .option('--data <folder>', 'a data directory that is kept')
  .addOption(new Option('--only <part>', 'only this part').choices(PARTS))
  .option('--reads <n>', 'how often to read a log', readCount, 5)
  .option('--seconds <n>', 'how long to write', readCount, 30)
  .option('--connections <n>', 'connections to write over', readCount, 8)
  .option('--write-apps <n>', 'apps to write to', readCount, 8)
  .option('--profile <folder>', 'where to put a CPU profile of the service')
  .addHelpText('after', HELP)
  .action(measureAndClose)
  .parseAsync()
  .catch((error: unknown) => (error instanceof Interrupted ? process.exit(130) : reportFailure(error)));
