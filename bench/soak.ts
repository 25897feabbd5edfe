import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { closingAfter, readCount, reportEnd, say, usualPlan } from './comparison/command.ts';
import { KINDS, type KindName } from './comparison/kinds.ts';
import { slopeOf } from './comparison/least-squares.ts';
import type { Orders } from './comparison/load.ts';
import { type Sizes, speaking } from './comparison/sameness.ts';
import { openStand, type Stand } from './comparison/stand.ts';
import { residentMb } from './usage/processes.ts';

/** What people do, out of a hundred requests. */
const MIX: Partial<Record<KindName, number>> = { one: 80, patch: 10, apps: 6, 'app-users': 2, usage: 2 };
const CONNECTIONS = 8;
const TRIAL_SECONDS = 20;
const SHARE = 0.7;
/** A service grows until it has seen everything once. */
const SETTLING_MINUTES = 5;
const SAMPLE_MS = 1_000;
const MINUTE_MS = 60_000;
const ROUNDS_OF_MIX = 20;

type Options = { data?: string; minutes: number };

/** All kinds, each as often as it is among a hundred, spread evenly. */
const mixedOrders = ({ place, samples, compared }: Stand): Orders => {
  const requests: { at: number; text: string }[] = [];
  const bounds: Sizes[] = [];
  for (const { kind, sizes } of compared) {
    const [[peer, size] = []] = sizes;
    if (!peer || !size) continue;
    bounds.push(size);
    const all = kind.requests(samples);
    const count = (MIX[kind.name] ?? 0) * ROUNDS_OF_MIX;
    for (let index = 0; index < count; index += 1) {
      const text = speaking(peer, kind).write(all[index % all.length] ?? [], place.token);
      requests.push({ at: (index + 0.5) / count, text });
    }
  }
  return {
    port: Number(new URL(place.service.address).port),
    requests: requests.toSorted((a, b) => a.at - b.at).map(({ text }) => text),
    offset: 0,
    connections: CONNECTIONS,
    seconds: TRIAL_SECONDS,
    status: 200,
    leastBytes: Math.min(...bounds.map(({ least }) => least)),
    mostBytes: Math.max(...bounds.map(({ most }) => most)),
    beside: null,
  };
};

type Sample = { x: number; y: number };

/** Minutes and megabytes, every second, until the work is done. */
const watchMemory = async (pid: number, work: Promise<unknown>): Promise<Sample[]> => {
  const samples: Sample[] = [];
  const started = performance.now();
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    samples.push({ x: (performance.now() - started) / MINUTE_MS, y: await residentMb(pid) });
    await Promise.race([sleep(SAMPLE_MS), ended]);
  }
  await ended;
  return samples;
};

const soak = async ({ data, minutes }: Options, closing: AsyncDisposableStack): Promise<void> => {
  const kinds = KINDS.filter(({ name }) => MIX[name] !== undefined);
  const stand = await openStand({ dataDir: data, plan: usualPlan(), peers: [], kinds }, say, closing);
  const { generate, place, state } = stand;
  const orders = mixedOrders(stand);
  const trial = await generate(orders);
  const most = trial.answers / trial.seconds;
  say(`At most ${most.toFixed(0)} requests a second; for ${minutes} minutes ${SHARE} of it.`);

  const load = generate({ ...orders, seconds: minutes * 60, perSecond: most * SHARE });
  const memory = await watchMemory(place.service.pid, load);
  const report = await load;
  await state.restore();
  await state.settle();

  const settlingMinutes = Math.min(SETTLING_MINUTES, minutes / 2);
  const settled = memory.filter(({ x }) => x >= settlingMinutes);
  const megabytes = memory.map(({ y }) => Math.round(y));
  say(`${report.answers} answers, ${(report.answers / report.seconds).toFixed(0)} a second, none wrong`);
  say(`p50 ${report.p50.toFixed(1)} ms, p99 ${report.p99.toFixed(1)} ms`);
  say(
    `memory ${megabytes[0]} MB at first, ${megabytes.at(-1)} MB at last, ${Math.max(...megabytes)} MB at most`,
  );
  say(`after ${settlingMinutes} minutes it grows by ${slopeOf(settled).toFixed(2)} MB a minute`);
};

await new Command('bench:soak')
  .description('load Steward with a mix of requests for a while, and watch its memory')
  .option('--data <folder>', 'a data directory that is kept')
  .option('--minutes <n>', 'how long', readCount, 30)
  .action((options: Options) => closingAfter((closing) => soak(options, closing)))
  .parseAsync()
  .catch(reportEnd);
