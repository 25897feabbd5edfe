import { METHODS } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../core/problems.ts';
import type { Endpoint } from './rest-endpoints.ts';

/**
 * On every known path: `OPTIONS` answers which methods it takes, and all others are refused with 405. As real
 * routes these also keep `PATCH /users/invitations/` from being taken for a user of that name.
 */
export const refuseOtherMethods = (app: FastifyInstance, endpoints: readonly Endpoint[]): void => {
  for (const [url, served] of methodsByPath(endpoints)) {
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
export const addRareMethods = (app: FastifyInstance): void => {
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
};

const methodsByPath = (endpoints: readonly Endpoint[]): Map<string, string[]> => {
  const methods = new Map<string, string[]>();
  for (const { url, method } of endpoints) {
    const known = methods.get(url) ?? [];
    methods.set(url, [...known, ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
  }
  return methods;
};
