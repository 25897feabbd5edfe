import type { FastifyRequest } from 'fastify';
import type { Context } from '../../routers/context.ts';
import type { Services } from '../services/index.ts';
import { presentedToken } from './credentials.ts';

export type ContextDeps = { openServices: () => Services; baseUrl: string };

const contexts = new WeakMap<FastifyRequest, Context>();

/** The one context of a request: hooks and procedure share it, so that the caller is looked up once. */
export const contextOf = (request: FastifyRequest, deps: ContextDeps): Context => {
  const known = contexts.get(request);
  if (known) return known;
  const context = newContext(request, deps);
  contexts.set(request, context);
  return context;
};

const newContext = (request: FastifyRequest, { openServices, baseUrl }: ContextDeps): Context => {
  let actor: ReturnType<Context['authenticate']> | undefined;
  const lookUp = async () => {
    const token = presentedToken(request);
    return token === null ? null : openServices().identity.actorOf(token);
  };
  return {
    openServices,
    authenticate: () => {
      actor ??= lookUp();
      return actor;
    },
    baseUrl,
    host: request.host.toLowerCase(),
    address: request.ip,
  };
};
