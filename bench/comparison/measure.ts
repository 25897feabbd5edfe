import type { Environment } from '../environment.ts';
import { measureCosts, processTree } from '../processes.ts';
import type { DatabaseState } from './database-state.ts';
import { generateLoad, type Load, median, probeDuring, send } from './load.ts';
import { type Peer, protocolOf } from './peers.ts';
import type { Samples } from './samples.ts';
import { getUser, type Scenario } from './scenarios.ts';

const WARM_UP_SECONDS = 1;
/** In the first round V8 still compiles. */
const FIRST_WARM_UP_SECONDS = 6;
const FIRST_BYTE_SAMPLES = 3;

/** One peer in one round. Latencies and CPU times are milliseconds; CPU times are per call. */
export type Measurement = {
  scenario: string;
  connections: number;
  peer: string;
  round: number;
  callsPerSecond: number;
  p50: number;
  p99: number;
  /** NaN where the scenario has no goal for it. */
  firstByte: number;
  serverCpu: number;
  /** NaN for an external database. */
  postgresCpu: number;
  peakMb: number;
  kilobytes: number;
  /** Of light requests sent at the same time; NaN where the scenario has no probe. */
  probeP99: number;
};

export type Turn = { scenario: Scenario; connections: number; peer: Peer; round: number; seconds: number };

type Deps = { environment: Environment; samples: Samples; state: DatabaseState };

export const createMeasure = ({ environment, samples, state }: Deps) => {
  const { token, postmaster } = environment;

  const loadOf = ({ scenario, connections, peer, round, seconds }: Turn): Load => {
    const protocol = protocolOf(peer, scenario);
    const requests = scenario.requests(peer.samplesOf(samples));
    return {
      url: peer.url,
      requests: requests.map((calls) => protocol.build(calls, token)),
      offset: round * 101,
      connections,
      seconds,
      ...(scenario.amount !== undefined && { amount: scenario.amount }),
    };
  };

  const warmUp = async (load: Load, { scenario }: Turn, seconds: number): Promise<void> => {
    if (scenario.amount !== undefined) {
      await generateLoad({ ...load, amount: load.connections });
      return;
    }
    await generateLoad({
      ...load,
      // Other requests than those measured: repeating a change would change nothing.
      offset: (load.offset ?? 0) + Math.ceil(load.requests.length / 2),
      seconds,
    });
  };

  /** Repeats the load with a probe: the probe's own cost must not be part of the measured CPU time. */
  const measureProbe = async (load: Load, { scenario, peer }: Turn): Promise<number> => {
    if (!scenario.probe) return Number.NaN;
    const { request: kind, intervalMs } = scenario.probe;
    const [user] = samples.members;
    const request =
      kind === 'one' && user
        ? protocolOf(peer, scenario).build([getUser(user.email)], token)
        : { path: '/healthz' };
    const { p99 } = await probeDuring({ url: peer.url, request, intervalMs }, () => generateLoad(load));
    return p99;
  };

  const measureFirstByte = async ({ url, requests }: Load, { scenario }: Turn): Promise<number> => {
    const [request] = requests;
    if (scenario.goal.maxFirstByteMs === undefined || !request) return Number.NaN;
    const times: number[] = [];
    while (times.length < FIRST_BYTE_SAMPLES) {
      const started = performance.now();
      const { body } = await send(url, request);
      const reader = body?.getReader();
      await reader?.read();
      times.push(performance.now() - started);
      await reader?.cancel();
    }
    return median(times);
  };

  return async (turn: Turn): Promise<Measurement> => {
    const { scenario, connections, peer, round } = turn;
    const load = loadOf(turn);
    if (round === 1) await warmUp(load, turn, FIRST_WARM_UP_SECONDS);
    if (scenario.writes) {
      await state.restore();
      await state.vacuum();
    }
    await warmUp(load, turn, WARM_UP_SECONDS);
    // Only now: gunicorn forks its workers late.
    const pids = await processTree(peer.pid);
    const { result, costs } = await measureCosts(pids, postmaster, () => generateLoad(load));
    const calls = result.responses * (scenario.requests(samples)[0]?.length ?? 1);
    return {
      scenario: scenario.name,
      connections,
      peer: peer.name,
      round,
      callsPerSecond: calls / result.seconds,
      p50: result.p50,
      p99: result.p99,
      firstByte: await measureFirstByte(load, turn),
      serverCpu: (costs.serverSeconds * 1000) / calls,
      postgresCpu: (costs.postgresSeconds * 1000) / calls,
      peakMb: costs.peakMb,
      kilobytes: result.bytes / result.responses / 1000,
      probeP99: await measureProbe(load, turn),
    };
  };
};

export const describeProgress = (m: Measurement): string =>
  `${m.round} ${m.scenario} ${m.connections} ${m.peer}: ${m.callsPerSecond.toFixed(1)} per second, p99 ${m.p99.toFixed(1)} ms, CPU ${m.serverCpu.toFixed(2)} + ${m.postgresCpu.toFixed(2)} ms`;
