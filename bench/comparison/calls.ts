/** Something to ask a peer for, in both forms that peers speak. */
export type Call = {
  method: 'GET' | 'POST' | 'PATCH';
  /** Under `/api/v1`. */
  path: string;
  body?: unknown;
  procedure: string;
  input: unknown;
};

/** How a peer is asked, and where in its answer the thing itself is. */
export type Dialect = {
  /** A whole HTTP request. */
  write: (calls: readonly Call[], token: string) => string;
  /** The things that a body tells, one for each call. */
  read: (body: string) => unknown[];
};

const httpRequest = (method: string, path: string, token: string, body?: unknown): string => {
  const text = body === undefined ? '' : JSON.stringify(body);
  const about = text && `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json\r\nauthorization: Token ${token}\r\n${about}\r\n${text}`;
};

/** REST takes one call a request. */
export const rest: Dialect = {
  write: ([call], token) => {
    if (!call) throw new Error('There is nothing to ask for.');
    return httpRequest(call.method, `/api/v1${call.path}`, token, call.body);
  },
  read: (body) => [JSON.parse(body)],
};

type TrpcAnswer = { result: { data: unknown } };

/** tRPC, alone or in a batch; `wrap` and `unwrap` are what a transformer adds. */
const trpcBy = (wrap: (input: unknown) => unknown, unwrap: (data: unknown) => unknown): Dialect => ({
  write: (calls, token) => {
    const isBatch = calls.length > 1;
    const names = calls.map(({ procedure }) => procedure).join(',');
    const inputs = calls.map(({ input }) => wrap(input));
    const input = isBatch ? Object.fromEntries(inputs.entries()) : inputs[0];
    if (calls[0]?.method !== 'GET') return httpRequest('POST', `/trpc/${names}`, token, input);
    const query = `${isBatch ? 'batch=1&' : ''}input=${encodeURIComponent(JSON.stringify(input))}`;
    return httpRequest('GET', `/trpc/${names}?${query}`, token);
  },
  read: (body) => {
    const answers = [JSON.parse(body)].flat() as TrpcAnswer[]; // tRPC answers a batch by an array of these
    return answers.map(({ result }) => unwrap(result.data));
  },
});

export const plainTrpc = trpcBy(
  (input) => input,
  (data) => data,
);
/** As Steward speaks it. Dates are texts in its JSON. */
export const superjsonTrpc = trpcBy(
  (json) => ({ json }),
  (data) => (data as { json: unknown }).json, // superjson's form
);
