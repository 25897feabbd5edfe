import type { Call, Dialect } from './calls.ts';
import { openConnection } from './connection.ts';
import { differenceBetween } from './differences.ts';
import type { Kind } from './kinds.ts';
import type { Peer } from './peers.ts';
import type { Samples } from './samples.ts';
import type { State } from './state.ts';

/** Of each kind, where its requests differ from each other. */
const COMPARED = 25;
/** An answer that differs because a window has moved on meanwhile is asked for again. */
const TRIES = 5;
/** Answers to other requests of the kind may be this much smaller or larger. */
const SPARE = 0.25;

/** Bytes that an answer of a peer may have. */
export type Sizes = { least: number; most: number };

/** The answers are not the same: there is nothing to measure. */
export class DifferentAnswers extends Error {}

type Deps = { samples: Samples; state: State; token: string };

/** @throws Error for a kind that the peer does not do */
export const speaking = (peer: Peer, kind: Kind): Dialect => {
  const dialect = peer.dialectFor(kind);
  if (!dialect) throw new Error(`${peer.name} does not do ${kind.name}.`);
  return dialect;
};

/**
 * Asks Steward and the others for the same, and holds the answers against each other, field by field, and the rows that
 * were written. Steward is the first of them.
 * @throws DifferentAnswers with the first difference
 */
export const compareAnswers = async (
  kind: Kind,
  peers: readonly Peer[],
  { samples, state, token }: Deps,
): Promise<Map<Peer, Sizes>> => {
  const connections = new Map(peers.map((peer) => [peer, openConnection(peer.port, true)]));
  const sizes = new Map<Peer, Sizes>();
  const { compared = COMPARED, comparable = (answer: unknown) => answer } = kind.writes ?? {};

  const ask = async (peer: Peer, calls: readonly Call[]) => {
    const dialect = speaking(peer, kind);
    if (kind.writes) await state.restore();
    const answer = await connections.get(peer)?.send(Buffer.from(dialect.write(calls, token)));
    const text = answer?.body.toString() ?? '';
    if (answer?.status !== 200) {
      throw new DifferentAnswers(
        `${kind.name}: ${peer.name} answered ${answer?.status}: ${text.slice(0, 500)}`,
      );
    }
    const { least, most } = sizes.get(peer) ?? { least: answer.bytes, most: answer.bytes };
    sizes.set(peer, { least: Math.min(least, answer.bytes), most: Math.max(most, answer.bytes) });
    return { answer: dialect.read(text).map(comparable), rows: kind.writes && (await state.written()) };
  };

  const callsFor = (peer: Peer, index: number): Call[] => kind.requests(peer.samplesOf(samples))[index] ?? [];

  const compare = async (steward: Peer, peer: Peer, index: number): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      const expected = await ask(steward, callsFor(steward, index));
      const found = await ask(peer, callsFor(peer, index));
      if (!peer.writesAll(kind)) found.rows = expected.rows;
      const difference = differenceBetween(expected, found);
      if (difference === null) return;
      if (tries < TRIES) continue;
      throw new DifferentAnswers(`${kind.name}: steward and ${peer.name} are not the same in ${difference}`);
    }
  };

  try {
    const [steward, ...others] = peers;
    const count = Math.min(compared, kind.requests(samples).length);
    for (let index = 0; steward && index < count; index += 1) {
      if (others.length === 0) await ask(steward, callsFor(steward, index));
      for (const peer of others) await compare(steward, peer, index);
    }
    if (kind.writes) await state.restore();
  } finally {
    for (const connection of connections.values()) connection.close();
  }
  return new Map([...sizes].map(([peer, size]) => [peer, widened(size)]));
};

const widened = ({ least, most }: Sizes): Sizes => ({
  least: Math.floor(least * (1 - SPARE)),
  most: Math.ceil(most * (1 + SPARE)),
});
