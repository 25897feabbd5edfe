import type { FastifyRequest } from 'fastify';

const SESSION_COOKIE = 'steward_session';

/**
 * Over https with the prefix by which browsers take the cookie from this very host alone: another one of the same
 * domain could else plant the session of its own choice.
 */
export const sessionCookieName = (isSecure: boolean): string =>
  isSecure ? `__Host-${SESSION_COOKIE}` : SESSION_COOKIE;

/** `Token` is the documented scheme; callers of later generations send the other two. */
const AUTHORIZATION = /^(?:token|bearer|jwt) +(\S+) *$/i;
/** Any other scheme, such as the `Basic` of a proxy, is not addressed to Steward. */
const OWN_SCHEME = /^(?:token|bearer|jwt)(?: |$)/i;

/** The API token of a request's `Authorization` header, or null. */
export const readToken = (request: FastifyRequest): string | null =>
  AUTHORIZATION.exec(request.headers.authorization ?? '')?.[1] ?? null;

/** The secret of a browser's session, or null. A request with a token, even a malformed one, has no session. */
export const readSession = (request: FastifyRequest, isSecure: boolean): string | null =>
  OWN_SCHEME.test(request.headers.authorization ?? '')
    ? null
    : (request.cookies[sessionCookieName(isSecure)] ?? null);
