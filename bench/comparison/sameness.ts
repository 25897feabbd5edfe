import type { Dialect } from './calls.ts';
import { openConnection, type Timed } from './connection.ts';
import { differenceBetween } from './differences.ts';
import type { Kind } from './kinds.ts';
import type { Peer } from './peers.ts';
import type { Samples } from './samples.ts';

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

/**
 * Asks Steward and the others for the same, and holds the answers against each other, field by field.
 * @throws DifferentAnswers with the first difference
 */
export const compareAnswers = async (
  kind: Kind,
  peers: readonly Peer[],
  samples: Samples,
  token: string,
): Promise<Map<Peer, Sizes>> => {
  const [steward, ...others] = peers;
  if (!steward) return new Map();
  const connections = new Map(peers.map((peer) => [peer, openConnection(peer.port, true)]));
  const sizes = new Map<Peer, Sizes>();

  const ask = async (peer: Peer, calls: ReturnType<Kind['requests']>[number]): Promise<unknown[]> => {
    const dialect = speaking(peer, kind);
    const answer = await connections.get(peer)?.send(Buffer.from(dialect.write(calls, token)));
    if (answer?.status !== 200) throw new DifferentAnswers(refusal(peer, kind, answer));
    const { least, most } = sizes.get(peer) ?? { least: answer.bytes, most: answer.bytes };
    sizes.set(peer, { least: Math.min(least, answer.bytes), most: Math.max(most, answer.bytes) });
    return dialect.read(answer.body.toString());
  };

  try {
    for (const calls of kind.requests(samples).slice(0, COMPARED)) {
      let known = await ask(steward, calls);
      for (const peer of others) {
        for (let tries = 1; ; tries += 1) {
          const difference = differenceBetween(known, await ask(peer, calls));
          if (difference === null) break;
          if (tries === TRIES) {
            throw new DifferentAnswers(
              `${kind.name}: steward and ${peer.name} do not answer the same: ${difference}`,
            );
          }
          known = await ask(steward, calls);
        }
      }
    }
  } finally {
    for (const connection of connections.values()) connection.close();
  }
  return new Map(
    [...sizes].map(([peer, { least, most }]) => [
      peer,
      { least: Math.floor(least * (1 - SPARE)), most: Math.ceil(most * (1 + SPARE)) },
    ]),
  );
};

/** @throws Error for a kind that the peer does not do */
export const speaking = (peer: Peer, kind: Kind): Dialect => {
  const dialect = peer.dialectFor(kind);
  if (!dialect) throw new Error(`${peer.name} does not do ${kind.name}.`);
  return dialect;
};

const refusal = (peer: Peer, kind: Kind, answer: Timed | undefined): string =>
  `${kind.name}: ${peer.name} answered ${answer?.status}: ${answer?.body.toString().slice(0, 500)}`;
