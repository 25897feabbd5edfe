import type { FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';

const PROXY_HINT = 'Behind a proxy, preserve the Host header or set TRUST_PROXY.';
const MAX_SHOWN_LENGTH = 255;

/**
 * Refuses a request that a page of another site made the browser send. Browsers set `Sec-Fetch-Site` and `Origin`
 * themselves, and no page can change them. A request without both does not come from a browser, or is a plain read.
 *
 * A proxy that rewrites `Host` makes the service's own pages look foreign: the error and the log name both sides.
 * @throws Problem `cross-site`
 */
export const refuseCrossSite = (request: FastifyRequest): void => {
  const { origin: header } = request.headers;
  if (request.headers['sec-fetch-site'] === 'cross-site') throw new Problem('cross-site');
  if (header === undefined || hostOf(header) === request.host.toLowerCase()) return;

  const origin = header.slice(0, MAX_SHOWN_LENGTH);
  const host = request.host.slice(0, MAX_SHOWN_LENGTH);
  request.log.warn({ origin, host }, `Refused: Origin does not match Host. ${PROXY_HINT}`);
  const detail = `The origin ${origin} does not match the host ${host} of this request. ${PROXY_HINT}`;
  throw new Problem('cross-site', { detail });
};

/** `null`, which sandboxed pages send, has none. */
const hostOf = (origin: string): string | undefined => URL.parse(origin)?.host;
