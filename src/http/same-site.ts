import type { FastifyRequest } from 'fastify';
import { Problem } from '../core/problems.ts';

/**
 * Refuses what a page of another site made the browser send. Browsers say where a request comes from and let no
 * page lie about it; what says nothing is no browser, or asks for what browsers may ask for.
 * @throws Problem `cross-site`
 */
export const refuseCrossSite = (request: FastifyRequest): void => {
  const { origin } = request.headers;
  if (request.headers['sec-fetch-site'] === 'cross-site') throw new Problem('cross-site');
  if (origin !== undefined && hostOf(origin) !== request.host.toLowerCase()) throw new Problem('cross-site');
};

/** `null`, which sandboxed pages send, has none. */
const hostOf = (origin: string): string | undefined => URL.parse(origin)?.host;
