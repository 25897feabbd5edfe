import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

type Options = { port: number; host: string; collect: () => Promise<{ contentType: string; text: string }> };

/** Serves `GET /metrics` on a port of its own, which stays inside the operator's network. */
export const startMetricsServer = async ({ port, host, collect }: Options): Promise<Server> => {
  const server = createServer((request, response) => {
    const fail = (status: number, text: string) =>
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
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
