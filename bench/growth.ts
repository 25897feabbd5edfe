import { Command, InvalidArgumentError } from 'commander';
import { closingAfter, readCount, readNames, reportEnd, say, usualPlan } from './comparison/command.ts';
import { KINDS, type Kind } from './comparison/kinds.ts';
import { createMeasuring, type Measurement } from './comparison/measuring.ts';
import { openStand } from './comparison/stand.ts';
import { growthTable } from './comparison/tables.ts';

type Size = { users: number; entries: number };
type Options = { users: number[]; entries: number[]; seconds: number; only?: readonly Kind[] };

const HELP = `
The sizes go in pairs: the first number of users with the first of entries, and so on. Everything is made in folders
that are removed; a million users and ten million entries take some 10 GB and ten minutes.`;

const readCounts = (text: string): number[] => text.split(',').map(readCount);

const sizesOf = ({ users, entries }: Options): Size[] => {
  if (users.length !== entries.length)
    throw new InvalidArgumentError('There must be as many numbers of users as of entries.');
  return users.map((count, index) => ({ users: count, entries: entries[index] ?? 0 }));
};

const measureSize = async (
  size: Size,
  { only = KINDS, seconds }: Options,
  closing: AsyncDisposableStack,
): Promise<Measurement[]> => {
  const plan = { ...usualPlan(), ...size };
  const stand = await openStand({ dataDir: undefined, plan, peers: [], kinds: only }, say, closing);
  const measureTurn = createMeasuring(stand);
  const found: Measurement[] = [];
  for (const { kind, sizes } of stand.compared) {
    const [connections = 1] = kind.connections;
    for (const [peer, bounds] of sizes) {
      found.push(await measureTurn({ kind, connections, peer, round: 1, seconds, sizes: bounds }));
    }
  }
  return found;
};

const measure = async (options: Options, closing: AsyncDisposableStack): Promise<void> => {
  const columns = [];
  for (const size of sizesOf(options)) {
    const name = `${size.users.toLocaleString('en-US')} users, ${size.entries.toLocaleString('en-US')} entries`;
    say(name);
    // Closed by itself before the next one, and with everything else should this be interrupted.
    const ofSize = closing.use(new AsyncDisposableStack());
    columns.push({ name, measurements: await measureSize(size, options, ofSize) });
    await ofSize.disposeAsync();
  }
  say(['', ...growthTable(columns)].join('\n'));
};

await new Command('bench:growth')
  .description('measure what requests cost Steward over more and more data')
  .option('--users <n,…>', 'numbers of users', readCounts, [1_000, 10_000, 100_000])
  .option('--entries <n,…>', 'numbers of entries of the usage log', readCounts, [10_000, 100_000, 1_000_000])
  .option('--seconds <n>', 'how long each kind of request is measured', readCount, 5)
  .option(
    '--only <kinds>',
    KINDS.map(({ name }) => name).join(','),
    readNames(KINDS, ({ name }) => name),
  )
  .addHelpText('after', HELP)
  .action((options: Options) => closingAfter((closing) => measure(options, closing)))
  .parseAsync()
  .catch(reportEnd);
