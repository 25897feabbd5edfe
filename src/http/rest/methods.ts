import { METHODS } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import type { Endpoint } from './endpoints.ts';

/** Path → the methods that it supports. */
export type MethodsByPath = ReadonlyMap<string, readonly string[]>;

/**
 * Answers `OPTIONS` on every known path with its methods, and all other methods with 405. As real routes these also keep
 * `PATCH /users/invitations/` from matching the route of a user.
 */
export const refuseOtherMethods = (app: FastifyInstance, paths: MethodsByPath): void => {
  for (const [url, methods] of paths) {
    const allow = [...methods, 'OPTIONS'].join(', ');
    app.options(url, async (_request, reply) => reply.code(204).header('allow', allow).send());
    app.route({
      method: app.supportedMethods.filter((method) => method !== 'OPTIONS' && !methods.includes(method)),
      url,
      onRequest: async (_request, reply) => {
        reply.header('allow', allow);
        throw new Problem('method-not-allowed');
      },
      // Never called: the hook fails before the body is read.
      handler: async () => undefined,
    });
  }
};

/** Adds the methods that Node can parse and Fastify does not support by default. `CONNECT` never reaches a route. */
export const addAllHttpMethods = (app: FastifyInstance): void => {
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
};

export const methodsByPath = (endpoints: readonly Endpoint[]): MethodsByPath => {
  const paths = new Map<string, string[]>();
  for (const { url, method } of endpoints) {
    const methods = method === 'GET' ? ['GET', 'HEAD'] : [method];
    paths.set(url, [...(paths.get(url) ?? []), ...methods]);
  }
  return paths;
};
