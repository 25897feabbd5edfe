import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { closingAfter, readCount, readNames, reportEnd, say, usualPlan } from './comparison/command.ts';
import { withTables } from './comparison/document.ts';
import { KINDS, type Kind } from './comparison/kinds.ts';
import { describeMachine } from './comparison/machine.ts';
import { createMeasuring, type Measurement, progressOf } from './comparison/measuring.ts';
import { type ChosenPeer, openStand, type Stand } from './comparison/stand.ts';
import { summarize } from './comparison/summary.ts';
import { figuresTable, goalsTable } from './comparison/tables.ts';

const PEERS = ['steward', 'floor', 'django', 'trpc'] as const;
const DOCUMENT = join(import.meta.dirname, '../docs/benchmarks.md');
const USUAL = { peers: [...PEERS], rounds: 3, seconds: 5 };
const QUICK = { peers: ['steward'] as ChosenPeer[], rounds: 1, seconds: 2 };

const HELP = `
Without --data, everything is made in a folder that is removed at the end. With it, a folder that has been filled
before is used again. With DATABASE_URL, that database is filled or used, and its processor time is not told.`;

type Options = {
  data?: string;
  only?: readonly Kind[];
  peers: ChosenPeer[];
  rounds: number;
  seconds: number;
  profile?: string;
  json?: string;
  write?: true;
};
type Given = Partial<Options> & { quick?: true };

const measure = async (options: Options, closing: AsyncDisposableStack): Promise<void> => {
  const { data: dataDir, only: kinds = KINDS, peers, rounds, seconds, profile, json } = options;
  const nodeOptions = profile ? `--cpu-prof --cpu-prof-dir=${profile}` : '';
  const stand = await openStand({ dataDir, plan: usualPlan(), nodeOptions, peers, kinds }, say, closing);
  const measurements = await takeTurns(stand, rounds, seconds);

  const figures = summarize(measurements);
  const machine = await describeMachine(stand.place.database, stand.versions);
  const about = `${machine} Rounds: ${rounds}, in turns of ${seconds} s.`;
  const lines = [about, '', ...figuresTable(figures), '', ...goalsTable(figures)];
  say(['', ...lines].join('\n'));
  if (json) await writeFile(json, `${JSON.stringify({ about, measurements }, null, 2)}\n`);
  if (options.write) await writeFile(DOCUMENT, withTables(await readFile(DOCUMENT, 'utf8'), lines));
};

/** One after the other, so that whatever else the machine does meets all of them. */
const takeTurns = async (stand: Stand, rounds: number, seconds: number): Promise<Measurement[]> => {
  const measureTurn = createMeasuring(stand);
  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const { kind, sizes } of stand.compared) {
      for (const connections of kind.connections) {
        for (const [peer, size] of sizes) {
          const found = await measureTurn({ kind, connections, peer, round, seconds, sizes: size });
          measurements.push(found);
          say(progressOf(found));
        }
      }
    }
  }
  return measurements;
};

await new Command('bench')
  .description('compare how fast requests are answered, by Steward and by others that answer the same')
  .option('--data <folder>', 'a data directory that is kept')
  .option(
    '--only <kinds>',
    KINDS.map(({ name }) => name).join(','),
    readNames(KINDS, ({ name }) => name),
  )
  .option('--peers <names>', PEERS.join(','), readNames(PEERS, String))
  .option('--rounds <n>', `how often everybody takes a turn (${USUAL.rounds})`, readCount)
  .option('--seconds <n>', `how long a turn is (${USUAL.seconds})`, readCount)
  .option('--quick', 'one short round of Steward alone')
  .option('--write', 'write the tables into docs/benchmarks.md')
  .option('--json <file>', 'where to put all measurements')
  .option('--profile <folder>', 'where to put a CPU profile of Steward')
  .addHelpText('after', HELP)
  .action(({ quick, ...given }: Given) =>
    closingAfter((closing) => measure({ ...(quick ? QUICK : USUAL), ...given }, closing)),
  )
  .parseAsync()
  .catch(reportEnd);
