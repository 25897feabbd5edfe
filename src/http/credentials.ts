import type { FastifyRequest } from 'fastify';

export const SESSION_COOKIE = 'steward_session';

/** `Token` is the documented scheme; callers of later generations send the other two. */
const AUTHORIZATION = /^(?:token|bearer|jwt) +(\S+) *$/i;

/** The API token of a request's `Authorization` header, or null. */
export const presentedToken = (request: FastifyRequest): string | null =>
  AUTHORIZATION.exec(request.headers.authorization ?? '')?.[1] ?? null;

/** The secret of a browser's session, or null. Whoever sends a token is judged by that alone. */
export const presentedSession = (request: FastifyRequest): string | null =>
  request.headers.authorization === undefined ? (request.cookies[SESSION_COOKIE] ?? null) : null;
