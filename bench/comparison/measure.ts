import { measureCosts } from '../processes.ts';
import type { DatabaseState } from './database-state.ts';
import { generateLoad, type Load, probeDuring } from './load.ts';
import { buildRequest, isSteward, type Peer } from './peers.ts';
import type { Samples } from './samples.ts';
import type { Scenario } from './scenarios.ts';

const WARM_UP_SECONDS = 1;
/** In the first round V8 still compiles: more and more requests are sent, until they take this long. */
const FIRST_WARM_UP_SECONDS = 2;
const GROWTH = 4;
const PROBE = { request: { path: '/healthz' }, intervalMs: 10 };

/** One peer in one round. Latencies and CPU times are milliseconds; CPU times are per request. */
export type Measurement = {
  scenario: string;
  peer: string;
  round: number;
  perSecond: number;
  p50: number;
  p99: number;
  serverCpu: number;
  postgresCpu: number;
  peakMb: number;
  /** Of light requests sent at the same time; NaN where they are not. */
  probeP99: number;
};

export type Turn = { scenario: Scenario; peer: Peer; round: number; seconds: number };

type Deps = { postmaster: number; token: string; samples: Samples; state: DatabaseState };

export const createMeasure = ({ postmaster, token, samples, state }: Deps) => {
  /** Requests per second, by scenario and peer. */
  const rates = new Map<string, number>();

  const loadOf = ({ scenario, peer, round }: Turn): Omit<Load, 'amount'> => ({
    url: peer.url,
    requests: scenario.requests(samples).map((call) => buildRequest(peer, call, token)),
    offset: round * 101,
    connections: scenario.connections,
  });

  const warmUp = async (turn: Turn, load: Omit<Load, 'amount'>): Promise<number> => {
    const name = `${turn.scenario.name} ${turn.peer.name}`;
    // Other requests than those measured: repeating a change would change nothing.
    const other = { ...load, offset: Math.ceil(load.requests.length / 2) };
    const rate = rates.get(name) ?? (await findRate(other));
    rates.set(name, rate);
    const amount = Math.floor(rate * WARM_UP_SECONDS);
    if (turn.round > 1 && amount >= load.connections) await generateLoad({ ...other, amount });
    return rate;
  };

  return async (turn: Turn): Promise<Measurement> => {
    const { scenario, peer, round, seconds } = turn;
    const base = loadOf(turn);
    if (scenario.writes) {
      await state.restore();
      await state.vacuum();
    }
    const rate = await warmUp(turn, base);
    const load = { ...base, amount: Math.max(base.connections, Math.floor(rate * seconds)) };
    const { result, costs } = await measureCosts(peer.pid, postmaster, () => generateLoad(load));
    // Once more: the probe's own cost must not be part of the measured CPU time.
    const probeP99 =
      scenario.hasProbe && isSteward(peer)
        ? await probeDuring({ url: peer.url, ...PROBE }, () => generateLoad(load))
        : Number.NaN;
    return {
      scenario: scenario.name,
      peer: peer.name,
      round,
      perSecond: result.responses / result.seconds,
      p50: result.p50,
      p99: result.p99,
      serverCpu: (costs.serverSeconds * 1000) / result.responses,
      postgresCpu: (costs.postgresSeconds * 1000) / result.responses,
      peakMb: costs.peakMb,
      probeP99,
    };
  };
};

const findRate = async (load: Omit<Load, 'amount'>): Promise<number> => {
  for (let amount = load.connections; ; amount *= GROWTH) {
    const { responses, seconds } = await generateLoad({ ...load, amount });
    if (seconds > FIRST_WARM_UP_SECONDS) return responses / seconds;
  }
};

export const describeProgress = (m: Measurement): string =>
  `${m.round} ${m.scenario} ${m.peer}: ${m.perSecond.toFixed(1)} per second, p99 ${m.p99.toFixed(1)} ms, CPU ${m.serverCpu.toFixed(2)} + ${m.postgresCpu.toFixed(2)} ms, peak ${m.peakMb.toFixed(0)} MB`;
