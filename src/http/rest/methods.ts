import { METHODS } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import type { Endpoint } from './endpoints.ts';

/** Path → the methods that it takes. */
export type MethodsByPath = ReadonlyMap<string, readonly string[]>;

/**
 * On every known path: `OPTIONS` answers which methods it takes, and all others are refused with 405. As real
 * routes these also keep `PATCH /users/invitations/` from being taken for a user of that name.
 */
export const refuseOtherMethods = (app: FastifyInstance, paths: MethodsByPath): void => {
  for (const [url, served] of paths) {
    const allow = [...served, 'OPTIONS'].join(', ');
    app.options(url, async (_request, reply) => reply.code(204).header('allow', allow).send());
    app.route({
      method: app.supportedMethods.filter((method) => method !== 'OPTIONS' && !served.includes(method)),
      url,
      onRequest: async (_request, reply) => {
        reply.header('allow', allow);
        throw new Problem('method-not-allowed');
      },
      // Never reached: the hook refuses before the body is read.
      handler: async () => undefined,
    });
  }
};

/** What Node can parse and Fastify does not know of its own accord; `CONNECT` never reaches a route. */
export const addAllHttpMethods = (app: FastifyInstance): void => {
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
};

export const methodsByPath = (endpoints: readonly Endpoint[]): MethodsByPath => {
  const methods = new Map<string, string[]>();
  for (const { url, method } of endpoints) {
    const own = method === 'GET' ? ['GET', 'HEAD'] : [method];
    methods.set(url, [...(methods.get(url) ?? []), ...own]);
  }
  return methods;
};
