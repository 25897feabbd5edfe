import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../../lib/problems.ts';

/** The methods of documented endpoints. */
export const API_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * On each path without an OPTIONS route, answers `OPTIONS` with the methods of the path, and all other methods with 405. Because these are
 * real routes, `PATCH /users/invitations/` does not match the route of a user.
 */
export const refuseOtherMethods = (app: FastifyInstance, urls: Iterable<string>): void => {
  for (const url of new Set(urls)) {
    // With `ignoreTrailingSlash`, Fastify stores each route without the slash.
    const path = url.replace(/(?<=.)\/$/, '');
    const methods = [...API_METHODS.filter((method) => app.hasRoute({ method, url: path })), 'OPTIONS'];
    const allow = methods.join(', ');
    if (!app.hasRoute({ method: 'OPTIONS', url: path }))
      app.options(url, async (_request, reply) => reply.code(204).header('allow', allow).send());
    app.route({
      method: app.supportedMethods.filter((method) => !methods.includes(method)),
      url,
      onRequest: async (_request, reply) => {
        reply.header('allow', allow);
        throw new Problem('method-not-allowed', { detail: `This path only supports ${allow}.` });
      },
      // Never called: the hook fails before the body is read.
      handler: async () => undefined,
    });
  }
};

/**
 * Before routing, renames methods that no path supports, such as PROPFIND, to TRACE. Node parses 27 of them: refusing each on every path
 * would add 0.2 s to a start.
 */
export const mergeUnsupportedMethods = (request: IncomingMessage): void => {
  if (!ROUTED_METHODS.has(request.method ?? '')) request.method = 'TRACE';
};

export const ROUTED_METHODS: ReadonlySet<string> = new Set([...API_METHODS, 'OPTIONS']);
