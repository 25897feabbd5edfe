import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { reportFailure } from '../src/cli/failures.ts';
import { DAY_MS } from '../src/core/clock.ts';
import { djangoVersions } from './comparison/django-peer.ts';
import { withTables } from './comparison/document.ts';
import { startGenerator } from './comparison/generator.ts';
import { KINDS, type Kind } from './comparison/kinds.ts';
import { describeMachine } from './comparison/machine.ts';
import { createMeasuring, type Measurement } from './comparison/measuring.ts';
import { bareOf, type Peer, startPeer, stewardAsPeer } from './comparison/peers.ts';
import { compareAnswers, DifferentAnswers } from './comparison/sameness.ts';
import { takeSamples } from './comparison/samples.ts';
import { keepState } from './comparison/state.ts';
import { summarize } from './comparison/summary.ts';
import { figuresTable, goalsTable } from './comparison/tables.ts';
import { openPlace } from './usage/place.ts';

const PEERS = ['steward', 'floor', 'django', 'trpc'] as const;
type Name = (typeof PEERS)[number];
const DOCUMENT = join(import.meta.dirname, '../docs/benchmarks.md');
const USUAL = { peers: [...PEERS], rounds: 3, seconds: 5 };
const QUICK = { peers: ['steward'] as Name[], rounds: 1, seconds: 2 };

const HELP = `
Without --data, everything is made in a folder that is removed at the end. With it, a folder that has been filled
before is used again. With DATABASE_URL, that database is filled or used, and its processor time is not told.`;

type Options = {
  data?: string;
  only?: Kind[];
  peers: Name[];
  rounds: number;
  seconds: number;
  profile?: string;
  json?: string;
  write?: true;
};
type Given = Partial<Options> & { quick?: true };

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const readCount = (text: string): number => {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('It is not a whole number from 1.');
  return Number(text);
};

/** Reads names of a list, in the list's order. */
const readNames =
  <T>(known: readonly T[], nameOf: (each: T) => string) =>
  (text: string): T[] => {
    const names = text.split(',');
    const stray = names.find((name) => !known.some((each) => nameOf(each) === name));
    if (stray !== undefined) {
      throw new InvalidArgumentError(`${stray} is none of ${known.map(nameOf).join(', ')}.`);
    }
    return known.filter((each) => names.includes(nameOf(each)));
  };

/** The plan of the measurements that docs/benchmarks.md tells. */
const plan = {
  users: 100_000,
  apps: 200,
  clients: 20,
  entries: 2_000_000,
  hotEntries: 0,
  days: 120,
  seed: 1,
  until: new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS),
};

const measure = async (options: Options, closing: AsyncDisposableStack): Promise<void> => {
  const { data, only = KINDS, rounds, seconds, profile, json } = options;
  const nodeOptions = profile ? `--cpu-prof --cpu-prof-dir=${profile}` : '';
  const place = await openPlace({ dataDir: data, plan, nodeOptions }, closing);
  const samples = await takeSamples(place.database);
  const state = await keepState(
    place.database,
    samples.members.map(({ email }) => email),
  );
  const peers: Peer[] = [stewardAsPeer(place)];
  const versions = options.peers.includes('django') ? await djangoVersions() : null;
  for (const name of options.peers) {
    if (name === 'steward') continue;
    if (name === 'django' && versions === null) {
      say(
        'django is left out: this machine lacks python3-django, -djangorestframework, -psycopg2 or gunicorn',
      );
      continue;
    }
    const peer = await startPeer(name, { place, samples }, closing);
    peers.push(...(name === 'floor' ? [peer, bareOf(peer)] : [peer]));
  }

  const compared = [];
  for (const kind of only) {
    const able = peers.filter((peer) => peer.dialectFor(kind));
    compared.push({ kind, sizes: await compareAnswers(kind, able, { samples, state, token: place.token }) });
    say(`${kind.name}: the same answers from ${able.map(({ name }) => name).join(', ')}`);
  }

  const measureTurn = createMeasuring({ place, generate: startGenerator(closing), samples, state });
  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const { kind, sizes } of compared) {
      for (const connections of kind.connections) {
        for (const [peer, size] of sizes) {
          const found = await measureTurn({ kind, connections, peer, round, seconds, sizes: size });
          measurements.push(found);
          say(progressOf(found));
        }
      }
    }
  }

  const figures = summarize(measurements);
  const about = `${await describeMachine(place.database, versions ? [versions] : [])} Medians of ${rounds} rounds of ${seconds} s.`;
  const lines = [about, '', ...figuresTable(figures), '', ...goalsTable(figures)];
  say(['', ...lines].join('\n'));
  if (json) await writeFile(json, `${JSON.stringify({ about, measurements }, null, 2)}\n`);
  if (options.write) await writeFile(DOCUMENT, withTables(await readFile(DOCUMENT, 'utf8'), lines));
};

const progressOf = (m: Measurement): string =>
  `${m.round} ${m.kind} ${m.connections} ${m.peer}: ${m.perSecond.toFixed(1)} a second, p99 ${m.p99.toFixed(1)} ms, CPU ${m.server.toFixed(2)} + ${m.postgres.toFixed(2)} ms, generator ${m.generator.toFixed(2)} ms`;

class Interrupted extends Error {}

/** Servers are processes of their own: they must not outlive an interrupted measurement. */
const interruption = (): Promise<never> =>
  new Promise((_resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Interrupted()));
  });

const measureAndClose = async ({ quick, ...given }: Given): Promise<void> => {
  await using closing = new AsyncDisposableStack();
  await Promise.race([measure({ ...(quick ? QUICK : USUAL), ...given }, closing), interruption()]);
};

const reportEnd = (error: unknown): void => {
  if (error instanceof Interrupted) process.exit(130);
  if (error instanceof DifferentAnswers) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else reportFailure(error);
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
  .action(measureAndClose)
  .parseAsync()
  .catch(reportEnd);
