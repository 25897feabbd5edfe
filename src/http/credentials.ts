import type { FastifyRequest } from 'fastify';

/** `Token` is the documented scheme; callers of later generations send the other two. */
const AUTHORIZATION = /^(?:token|bearer|jwt) +(\S+) *$/i;

/** The API token of a request's `Authorization` header, or null. */
export const presentedToken = (request: FastifyRequest): string | null =>
  AUTHORIZATION.exec(request.headers.authorization ?? '')?.[1] ?? null;
