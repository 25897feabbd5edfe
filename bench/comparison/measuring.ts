import type { Place } from '../usage/place.ts';
import type { Dialect } from './calls.ts';
import { costing, processesOf } from './costs.ts';
import type { Generator } from './generator.ts';
import { type Kind, oneUser } from './kinds.ts';
import type { Orders } from './load.ts';
import type { Peer } from './peers.ts';
import { type Sizes, speaking } from './sameness.ts';
import type { Samples } from './samples.ts';
import type { State } from './state.ts';

const WARM_UP_SECONDS = 1;
/** Of a program that has just been started: V8 compiles while it runs. */
const FIRST_WARM_UP_SECONDS = 6;
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';

/** What one peer did in one round. Times are milliseconds, also of processors, for one call. */
export type Measurement = {
  kind: string;
  connections: number;
  peer: string;
  round: number;
  perSecond: number;
  p50: number;
  p99: number;
  firstByte: number;
  server: number;
  postgres: number;
  peakMb: number;
  /** Of one answer. */
  kilobytes: number;
  /** Of the light requests that were sent meanwhile; NaN where there were none. */
  besideP99: number;
  generator: number;
};

export type Turn = {
  kind: Kind;
  connections: number;
  peer: Peer;
  round: number;
  seconds: number;
  sizes: Sizes;
};

type Deps = { place: Place; generate: Generator; samples: Samples; state: State };

export const createMeasuring = ({ place, generate, samples, state }: Deps) => {
  const besideOf = ({ beside }: Kind, { write }: Dialect): Orders['beside'] => {
    if (!beside) return null;
    const one = samples.members.slice(0, 1).map(({ email }) => oneUser(email));
    return { request: beside.of === 'one' ? write(one, place.token) : HEALTH, intervalMs: beside.everyMs };
  };
  const ordersFor = ({ kind, connections, peer, round, seconds, sizes }: Turn): Orders => {
    const dialect = speaking(peer, kind);
    const requests = kind.requests(peer.samplesOf(samples));
    return {
      port: peer.port,
      requests: requests.map((calls) => dialect.write(calls, place.token)),
      offset: round * 101,
      connections,
      seconds,
      status: 200,
      leastBytes: sizes.least,
      mostBytes: sizes.most,
      beside: besideOf(kind, dialect),
    };
  };

  return async (turn: Turn): Promise<Measurement> => {
    const { kind, connections, peer, round } = turn;
    const calls = kind.requests(samples)[0]?.length ?? 1;
    const orders = ordersFor(turn);
    if (kind.writes) {
      await state.restore();
      await state.settle();
    }
    // With other requests than those that are measured: a change that was made before would be none.
    const half = Math.ceil(orders.requests.length / 2);
    const isNew = round === 1 && !kind.writes;
    const warmUpSeconds = isNew ? FIRST_WARM_UP_SECONDS : WARM_UP_SECONDS;
    await generate({ ...orders, offset: orders.offset + half, seconds: warmUpSeconds });
    // Those that it has by now: a master may have made its workers late.
    const pids = await processesOf(peer.pid);
    // Looking up users costs too much to be counted in: it has a turn of its own.
    const costed = kind.beside?.of === 'one' ? { ...orders, beside: null } : orders;
    const { result, costs } = await costing(pids, place.postmaster, () => generate(costed));
    const { besideP99 } = costed === orders ? result : await generate(orders);
    const perCall = (seconds: number): number => (seconds * 1000) / (result.answers * calls);
    return {
      kind: kind.name,
      connections,
      peer: peer.name,
      round,
      perSecond: (result.answers * calls) / result.seconds,
      p50: result.p50,
      p99: result.p99,
      firstByte: result.firstByte,
      server: perCall(costs.serverSeconds),
      postgres: perCall(costs.postgresSeconds),
      peakMb: costs.peakMb,
      kilobytes: result.bytes / result.answers / 1000,
      besideP99,
      generator: perCall(result.cpuSeconds),
    };
  };
};

export const progressOf = (m: Measurement): string =>
  `${m.round} ${m.kind} ${m.connections} ${m.peer}: ${m.perSecond.toFixed(1)} a second, p99 ${m.p99.toFixed(1)} ms, CPU ${m.server.toFixed(2)} + ${m.postgres.toFixed(2)} ms, generator ${m.generator.toFixed(2)} ms`;
