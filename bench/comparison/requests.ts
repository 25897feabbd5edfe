import type { Request } from 'autocannon';

/** One call, described for both protocols that the peers speak. */
export type Call = {
  method: 'GET' | 'POST' | 'PATCH';
  /** Below `/api/v1`. */
  path: string;
  body?: unknown;
  procedure: string;
  input: unknown;
};

export type HttpRequest = Pick<Request, 'method' | 'path' | 'headers'> & { body?: string };

export type Protocol = {
  build: (calls: readonly Call[], token: string) => HttpRequest;
  /** @returns the result of each call */
  parse: (body: string) => unknown[];
};

const buildRequest = (
  method: Call['method'],
  path: string,
  token: string,
  payload?: unknown,
): HttpRequest => ({
  method,
  path,
  headers: {
    accept: 'application/json',
    authorization: `Token ${token}`,
    ...(payload !== undefined && { 'content-type': 'application/json' }),
  },
  ...(payload !== undefined && { body: JSON.stringify(payload) }),
});

/** One call per request. */
export const rest: Protocol = {
  build: ([call], token) => {
    if (!call) throw new Error('A REST request needs a call.');
    return buildRequest(call.method, `/api/v1${call.path}`, token, call.body);
  },
  parse: (body) => [JSON.parse(body)],
};

type TrpcResponse = { result: { data: unknown } };

/** tRPC, single or batched, with the serialization of a data transformer. */
const trpcWith = (
  serialize: (input: unknown) => unknown,
  deserialize: (data: unknown) => unknown,
): Protocol => ({
  build: (calls, token) => {
    const isBatch = calls.length > 1;
    const procedures = calls.map(({ procedure }) => procedure).join(',');
    const inputs = calls.map(({ input }) => serialize(input));
    const input = isBatch ? Object.fromEntries(inputs.entries()) : inputs[0];
    if (calls[0]?.method !== 'GET') return buildRequest('POST', `/trpc/${procedures}`, token, input);
    const query = `${isBatch ? 'batch=1&' : ''}input=${encodeURIComponent(JSON.stringify(input))}`;
    return buildRequest('GET', `/trpc/${procedures}?${query}`, token);
  },
  parse: (body) => {
    const responses = [JSON.parse(body)].flat() as TrpcResponse[]; // tRPC's response format
    return responses.map(({ result }) => deserialize(result.data));
  },
});

export const plainTrpc = trpcWith(
  (input) => input,
  (data) => data,
);
/** Steward's transformer. Dates stay strings in the `json` part. */
export const superjsonTrpc = trpcWith(
  (json) => ({ json }),
  (data) => (data as { json: unknown }).json, // superjson's format
);
