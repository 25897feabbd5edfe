import type { FastifyInstance } from 'fastify';
import type { Send } from '../../src/client.ts';

const NULL_BODY_STATUSES = new Set([204, 304]);

/** A `fetch` that passes requests to the server in-process. It buffers the response and keeps no cookies. */
export const createInjectFetch =
  (server: Pick<FastifyInstance, 'inject'>): Send =>
  async (url, { method = 'GET', headers, body } = {}) => {
    const answer = await server.inject({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers: Object.fromEntries(new Headers(headers)),
      payload: String(body ?? ''),
    });
    return new Response(NULL_BODY_STATUSES.has(answer.statusCode) ? null : answer.body, {
      status: answer.statusCode,
      headers: Object.entries(answer.headers).flatMap(([name, values]) =>
        [values].flat().map((value): [string, string] => [name, String(value)]),
      ),
    });
  };
