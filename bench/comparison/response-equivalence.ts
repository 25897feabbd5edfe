import { OperatorError } from '../../src/lib/errno.ts';
import type { DatabaseState } from './database-state.ts';
import { send } from './load.ts';
import { buildRequest, type Peer, parseResponse } from './peers.ts';
import type { Samples } from './samples.ts';
import type { Scenario } from './scenarios.ts';

/** Requests compared per scenario. */
const COMPARED = 25;
/** A response may differ because a time window moved on between two requests. */
const ATTEMPTS = 5;
const MAX_VALUE_LENGTH = 120;

/** Peers that respond differently cannot be compared. */
class ResponsesDiffer extends OperatorError {}

type Deps = { samples: Samples; state: Pick<DatabaseState, 'changes' | 'restore'>; token: string };

/**
 * Sends the same requests to all peers, and compares the responses and the rows written with those of the first peer.
 * @throws ResponsesDiffer with the first difference
 */
export const compareResponses = async (
  scenario: Scenario,
  [steward, ...others]: readonly Peer[],
  { samples, state, token }: Deps,
): Promise<void> => {
  const { compared = COMPARED, normalize = (response: unknown) => response } = scenario.writes ?? {};
  const calls = scenario.requests(samples).slice(0, compared);

  const observe = async (peer: Peer, call: (typeof calls)[number]) => {
    if (scenario.writes) await state.restore();
    const response = await send(peer.url, buildRequest(peer, call, token)).catch((error: unknown) => {
      throw new ResponsesDiffer(`${scenario.name}: ${peer.name} failed: ${error}`);
    });
    const result = normalize(parseResponse(peer, await response.text()));
    return { response: result, rows: scenario.writes && (await state.changes()) };
  };

  const compare = async (reference: Peer, peer: Peer, call: (typeof calls)[number]): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      const difference = findDifference(await observe(reference, call), await observe(peer, call));
      if (difference === null) return;
      if (attempt < ATTEMPTS) continue;
      throw new ResponsesDiffer(
        `${scenario.name}: ${reference.name} and ${peer.name} differ at ${difference}`,
      );
    }
  };

  if (!steward) return;
  for (const call of calls) for (const peer of others) await compare(steward, peer, call);
  if (scenario.writes) await state.restore();
};

/**
 * Finds where two JSON values first differ, ignoring the order of keys.
 * @returns a path with both values, or null if they are equal
 */
const findDifference = (a: unknown, b: unknown, path = ''): string | null => {
  if (Object.is(a, b)) return null;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return describe(path, a, b);
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const key of keys) {
    const isInBoth = Object.hasOwn(a, key) && Object.hasOwn(b, key);
    const difference = isInBoth
      ? findDifference(a[key], b[key], `${path}/${key}`)
      : describe(`${path}/${key}`, a[key], b[key]);
    if (difference !== null) return difference;
  }
  return null;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const describe = (path: string, a: unknown, b: unknown): string => {
  const [left, right] = [a, b].map((value) =>
    (JSON.stringify(value) ?? 'undefined').slice(0, MAX_VALUE_LENGTH),
  );
  return `${path || '/'}: ${left} and ${right}`;
};
