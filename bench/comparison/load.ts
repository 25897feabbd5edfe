import autocannon from 'autocannon';

export type HttpRequest = Pick<autocannon.Request, 'method' | 'path' | 'headers'> & { body?: string };

/** Placeholder in a request body, replaced for each request sent; as long as the replacement. */
export const UNIQUE_TOKEN = 'unique-0000';

/** Replaces all tokens of a body by one number, the time in microseconds. */
const fillUniqueTokens = (body: string): string => {
  const microseconds = String(process.hrtime.bigint() / 1000n);
  const token = microseconds.slice(-UNIQUE_TOKEN.length).padStart(UNIQUE_TOKEN.length, '0');
  return body.replaceAll(UNIQUE_TOKEN, token);
};

export type Load = {
  url: string;
  /** Each connection repeats its part of them. */
  requests: readonly HttpRequest[];
  /** Index of the first request. */
  offset?: number;
  connections: number;
  /** Of all connections together. A load by time would end with requests that the server still works on. */
  amount: number;
};

/** Latencies in milliseconds. */
export type LoadResult = { responses: number; seconds: number; p50: number; p99: number };

/** Longer than Django takes to list all users, on a busy machine too. */
const TIMEOUT_SECONDS = 600;

/**
 * Runs autocannon against one server.
 * @throws Error if a request failed or a response was not 2xx
 */
export const generateLoad = async (load: Load): Promise<LoadResult> => {
  const { url, requests, offset = 0, connections, amount } = load;
  const latencies: number[] = [];
  let clients = 0;
  let started = 0;
  let lastResponse = 0;
  const options: autocannon.Options = {
    url,
    connections,
    amount,
    timeout: TIMEOUT_SECONDS,
    setupClient: (client) => {
      const first = offset + Math.floor((clients * requests.length) / connections);
      clients += 1;
      const own = rotate(requests, first).slice(0, Math.ceil(requests.length / connections));
      client.setRequests(own.map(withUniqueTokens));
      started = performance.now();
    },
  };
  // autocannon's own histogram rounds to whole milliseconds.
  const { errors, statusCodeStats = {} } = await runAutocannon(options, (latency) => {
    latencies.push(latency);
    lastResponse = performance.now();
  });
  const failed = Object.entries(statusCodeStats).filter(([status]) => !status.startsWith('2'));
  if (errors > 0 || failed.length > 0) {
    const statuses = failed.map(([status, { count = 0 }]) => `${count} × ${status}`);
    throw new Error(`${url}: ${[`${errors} requests without a response`, ...statuses].join(', ')}.`);
  }
  return {
    responses: latencies.length,
    // autocannon ends a load up to a second after its last response.
    seconds: (lastResponse - started) / 1000,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
};

const runAutocannon = (
  options: autocannon.Options,
  onResponse: (latencyMs: number) => void,
): Promise<autocannon.Result> =>
  new Promise((resolve, reject) => {
    const instance = autocannon(options, (error, result) => (error ? reject(error) : resolve(result)));
    instance.on('response', (_client, _status, _size, latency) => onResponse(latency));
  });

const rotate = <T>(items: readonly T[], first: number): T[] => {
  const start = first % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
};

/** Only requests with unique tokens are rebuilt each time they are sent. */
const withUniqueTokens = (request: HttpRequest): autocannon.Request => {
  const { body } = request;
  if (!body?.includes(UNIQUE_TOKEN)) return { ...request };
  return { ...request, setupRequest: (built) => ({ ...built, body: fillUniqueTokens(body) }) };
};

/** The smallest number that is not exceeded by the given share of all numbers. */
export const quantile = (numbers: readonly number[], share: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.ceil(numbers.length * share) - 1] ?? Number.NaN;

export const median = (numbers: readonly number[]): number => quantile(numbers, 0.5);

/**
 * Measures the latency of light requests while `work` runs. They are sent at a fixed interval, whether or not earlier
 * ones were answered, so that a stalled server delays many of them (no coordinated omission).
 * @returns the 99th percentile in milliseconds
 */
export const probeDuring = async (
  { url, request, intervalMs }: { url: string; request: HttpRequest; intervalMs: number },
  work: () => Promise<unknown>,
): Promise<number> => {
  const probes: Promise<number>[] = [];
  const timer = setInterval(() => probes.push(timeRequest(url, request)), intervalMs);
  await work().finally(() => clearInterval(timer));
  return quantile(await Promise.all(probes), 0.99);
};

const timeRequest = async (url: string, request: HttpRequest): Promise<number> => {
  const started = performance.now();
  const response = await send(url, request);
  await response.arrayBuffer();
  return performance.now() - started;
};

/** @throws Error unless the response is a success */
export const send = async (
  url: string,
  { path, method = 'GET', headers, body }: HttpRequest,
): Promise<Response> => {
  const response = await fetch(url + path, {
    method,
    headers: Object.entries(headers ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
    body: body ?? null,
  });
  if (!response.ok) {
    throw new Error(`${method} ${path}: ${response.status} ${(await response.text()).slice(0, 500)}`);
  }
  return response;
};
