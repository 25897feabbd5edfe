import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';

/** RFC 9110 §7.2, RFC 3986 §3.2.2: a name, an IPv4 address or an IPv6 address in brackets, with an optional port; or empty. */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

const INVALID_HOST = {
  detail: 'The request must have exactly one Host header with a host name or address.',
};

/** Refuses a request with no valid `Host` header or several (RFC 9112 §3.2). HTTP/1.0 needs none. */
export const requireHostHeader = (app: Pick<FastifyInstance, 'addHook'>): void => {
  app.addHook('onRequest', (request, _reply, done) => {
    const isValid = hasOneHost(request.raw) && HOST.test(request.headers.host ?? '');
    done(isValid ? undefined : new Problem('malformed-request', INVALID_HOST));
  });
};

const hasOneHost = ({ headers, httpVersion, rawHeaders }: FastifyRequest['raw']): boolean => {
  if (headers.host === undefined) return httpVersion === '1.0';
  let count = 0;
  // `headers` contains only the first one. In `rawHeaders`, names and values alternate.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count <= 1;
};
