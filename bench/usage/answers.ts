import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';

/** Connections are used again, so that what is measured is the answer. */
const agent = new Agent({ keepAlive: true });

export type Source = { address: string; token: string };

export const API = '/api/v1/jb';

/** Sends a GET, and resolves with the head of its answer. */
export const request = async (
  { address, token }: Source,
  path: string,
  accept = 'application/json',
): Promise<IncomingMessage> => {
  const asked = get(address + path, { agent, headers: { authorization: `Token ${token}`, accept } });
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]; // of node's `response` event
  if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}.`);
  return answer;
};

export type Reading = { firstByteMs: number; totalMs: number; bytes: number };

/** Reads an answer to its end and keeps nothing of it. */
export const readThrough = async (source: Source, path: string, accept?: string): Promise<Reading> => {
  const started = performance.now();
  let firstByteMs = 0;
  let bytes = 0;
  for await (const chunk of await request(source, path, accept)) {
    firstByteMs ||= performance.now() - started;
    bytes += (chunk as Buffer).length; // no encoding is set
  }
  return { firstByteMs, totalMs: performance.now() - started, bytes };
};

export const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

/** The number below which so large a share of the others is, for example 0.95. */
export const quantile = (numbers: readonly number[], share: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.ceil(numbers.length * share) - 1] ?? Number.NaN;
