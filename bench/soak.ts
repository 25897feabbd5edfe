import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { defaultPlan, parseCount, printLine, reportBenchFailure, withCleanup } from './command.ts';
import { generateLoad, type Load, median } from './comparison/load.ts';
import { protocolOf } from './comparison/peers.ts';
import type { HttpRequest } from './comparison/requests.ts';
import { SCENARIOS } from './comparison/scenarios.ts';
import { openTestbed, type Testbed } from './comparison/testbed.ts';
import { residentMb } from './processes.ts';

/** Shares of the load, in percent. */
const MIX: Record<string, number> = { one: 80, patch: 10, apps: 6, 'app-users': 2, usage: 2 };
/** Each scenario sends different requests in this many repetitions of the mix. */
const MIX_REPETITIONS = 20;
const CONNECTIONS = 8;
const TRIAL_SECONDS = 20;
/** Of the highest rate. */
const LOAD_SHARE = 0.7;
/** Caches and JIT-compiled code grow first. */
const SETTLING_MINUTES = 5;
const SAMPLE_INTERVAL_MS = 1_000;
const MINUTE_MS = 60_000;

type Options = { data?: string; minutes: number };

/** Interleaves the requests of all scenarios evenly. */
const mixedLoad = ({ environment, samples, scenarios }: Testbed): Load => {
  const requests: { position: number; request: HttpRequest }[] = [];
  for (const { scenario, peers } of scenarios) {
    const [peer] = peers;
    if (!peer) continue;
    const all = scenario.requests(samples);
    const count = (MIX[scenario.name] ?? 0) * MIX_REPETITIONS;
    for (let index = 0; index < count; index += 1) {
      const calls = all[index % all.length] ?? [];
      const request = protocolOf(peer, scenario).build(calls, environment.token);
      requests.push({ position: (index + 0.5) / count, request });
    }
  }
  return {
    url: new URL(environment.service.address).origin,
    requests: requests.toSorted((a, b) => a.position - b.position).map(({ request }) => request),
    connections: CONNECTIONS,
    seconds: TRIAL_SECONDS,
  };
};

type MemorySample = { minute: number; mb: number };

const sampleMemory = async (pid: number, work: Promise<unknown>): Promise<MemorySample[]> => {
  const samples: MemorySample[] = [];
  const started = performance.now();
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    samples.push({ minute: (performance.now() - started) / MINUTE_MS, mb: await residentMb(pid) });
    await Promise.race([sleep(SAMPLE_INTERVAL_MS), done]);
  }
  await done;
  return samples;
};

/** MB per minute, from the medians of the first and the last quarter. */
const growthRate = (samples: readonly MemorySample[]): number => {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const [first, last] = [samples.slice(0, quarter), samples.slice(-quarter)].map((part) => ({
    minute: median(part.map(({ minute }) => minute)),
    mb: median(part.map(({ mb }) => mb)),
  }));
  return first && last ? (last.mb - first.mb) / (last.minute - first.minute) : Number.NaN;
};

const soak = async ({ data, minutes }: Options, cleanup: AsyncDisposableStack): Promise<void> => {
  const scenarios = SCENARIOS.filter(({ name }) => MIX[name] !== undefined);
  const testbed = await openTestbed(
    { dataDir: data, plan: defaultPlan(), peers: [], scenarios },
    printLine,
    cleanup,
  );
  const { environment, state } = testbed;
  const load = mixedLoad(testbed);
  const trial = await generateLoad(load);
  const maxRate = trial.responses / trial.seconds;
  printLine(
    `Highest rate: ${maxRate.toFixed(0)} per second; sending ${LOAD_SHARE} of it for ${minutes} minutes.`,
  );

  const running = generateLoad({ ...load, seconds: minutes * 60, rate: Math.round(maxRate * LOAD_SHARE) });
  const memory = await sampleMemory(environment.service.pid, running);
  const result = await running;
  await state.restore();
  await state.vacuum();

  const settlingMinutes = Math.min(SETTLING_MINUTES, minutes / 2);
  const settled = memory.filter(({ minute }) => minute >= settlingMinutes);
  const megabytes = memory.map(({ mb }) => Math.round(mb));
  printLine(
    `${result.responses} responses, ${(result.responses / result.seconds).toFixed(0)} per second, no failures`,
  );
  printLine(`p50 ${result.p50.toFixed(1)} ms, p99 ${result.p99.toFixed(1)} ms`);
  printLine(
    `memory: ${megabytes[0]} MB first, ${megabytes.at(-1)} MB last, ${Math.max(...megabytes)} MB peak`,
  );
  printLine(`growth after ${settlingMinutes} minutes: ${growthRate(settled).toFixed(2)} MB per minute`);
};

await new Command('bench:soak')
  .description('Load Steward with a mix of requests for a long time and watch its memory')
  .option('--data <folder>', 'data directory to keep and reuse')
  .option('--minutes <n>', 'duration', parseCount, 30)
  .action((options: Options) => withCleanup((cleanup) => soak(options, cleanup)))
  .parseAsync()
  .catch(reportBenchFailure);
