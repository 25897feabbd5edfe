import type { FastifyInstance } from 'fastify';
import type { JSONWebKeySet } from 'jose';
import { JWKS_PATH } from '../lib/ticket-claims.ts';
import { etagOf, isNotModified } from './rest/conditional-requests.ts';
import { refuseOtherMethods } from './rest/methods.ts';

export type JwksDeps = {
  /** The keys of tickets that are valid now or soon. */
  readPublicKeys: () => Promise<JSONWebKeySet>;
  jwksMaxAgeSeconds: number;
};

/** Serves the public keys of tickets (RFC 7517), which scripts of all sites may read. */
export const serveJwks = (app: FastifyInstance, { readPublicKeys, jwksMaxAgeSeconds }: JwksDeps): void => {
  app.get(JWKS_PATH, async (request, reply) => {
    const json = JSON.stringify(await readPublicKeys());
    const etag = etagOf({}, json);
    reply
      .header('cache-control', `public, max-age=${jwksMaxAgeSeconds}`)
      .header('etag', etag)
      .header('access-control-allow-origin', '*')
      .header('cross-origin-resource-policy', 'cross-origin');
    if (isNotModified(request, etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(json);
  });
  refuseOtherMethods(app, [JWKS_PATH]);
};
