import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

type Options = {
  port: number;
  host: string;
  /** Undefined: the metrics need no credentials. */
  token: string | undefined;
  collect: () => Promise<{ contentType: string; text: string }>;
};

/** Serves `GET /metrics` on a separate port, which stays inside the operator's network. */
export const startMetricsServer = async ({ port, host, token, collect }: Options): Promise<Server> => {
  const isAllowed = token === undefined ? () => true : createTokenCheck(token);
  const server = createServer((request, response) => {
    const fail = (status: number, text: string) =>
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
    if (!isAllowed(request.headers.authorization)) {
      response.setHeader('www-authenticate', 'Bearer');
      return fail(401, 'Send the METRICS_TOKEN as a bearer token.');
    }
    if (request.url !== '/metrics') return fail(404, 'The metrics are at /metrics.');
    if (request.method !== 'GET' && request.method !== 'HEAD') return fail(405, 'Use GET.');
    return collect().then(
      ({ contentType, text }) => response.writeHead(200, { 'content-type': contentType }).end(text),
      () => fail(503, 'The metrics of some workers are not available. Try again shortly.'),
    );
  });
  server.listen({ port, host });
  await once(server, 'listening');
  return server;
};

/** Compares digests, which have the same length, in constant time. */
const createTokenCheck = (token: string) => {
  const expected = digestOf(token);
  return (authorization = ''): boolean => {
    const sent = /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '';
    return timingSafeEqual(digestOf(sent), expected);
  };
};

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
