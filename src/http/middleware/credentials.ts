import type { FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';

const SESSION_COOKIE = 'steward_session';
const DEVICE_COOKIE = 'steward_device';

/**
 * With https the name gets the `__Host-` prefix: browsers then accept the cookie only from this host. Another host of the same
 * domain could otherwise set a session cookie of its choice.
 */
export const sessionCookieName = (isSecure: boolean): string => hostCookieName(SESSION_COOKIE, isSecure);

export const deviceCookieName = (isSecure: boolean): string => hostCookieName(DEVICE_COOKIE, isSecure);

const hostCookieName = (name: string, isSecure: boolean): string => (isSecure ? `__Host-${name}` : name);

/** `Token` is the documented scheme; clients of later generations send the other two. */
const AUTHORIZATION = /^(?:token|bearer|jwt) +(\S+) *$/i;
/** Other schemes, such as the `Basic` of a proxy, are not meant for Steward. */
const TOKEN_SCHEME = /^(?:token|bearer|jwt)(?: |$)/i;

/** The API token in the `Authorization` header, or null. */
export const readToken = (request: FastifyRequest): string | null =>
  AUTHORIZATION.exec(request.headers.authorization ?? '')?.[1] ?? null;

/** The secret of the browser session, or null. Ignored if the request also has a token, even a malformed one. */
export const readSession = (request: FastifyRequest, isSecure: boolean): string | null =>
  TOKEN_SCHEME.test(request.headers.authorization ?? '')
    ? null
    : (request.cookies[sessionCookieName(isSecure)] ?? null);

const HOW_TO_SEND =
  'Send the header `Authorization: Token <token>`, with a token of POST /api/v1/api-token-auth/.';
const HOW_TO_RENEW = 'Get a new one with POST /api/v1/api-token-auth/.';

/** The problem of a request without valid credentials, with the reason and what to do. */
export const unauthenticated = (request: FastifyRequest, isSecure: boolean): Problem => {
  const { authorization } = request.headers;
  if (readSession(request, isSecure) !== null)
    return new Problem('unauthenticated', { detail: 'The session is invalid or expired. Log in again.' });
  if (authorization === undefined)
    return new Problem('unauthenticated', { detail: `No credentials were sent. ${HOW_TO_SEND}` });
  const detail = TOKEN_SCHEME.test(authorization)
    ? `The token is invalid or expired. ${HOW_TO_RENEW}`
    : `Unknown authorization scheme. ${HOW_TO_SEND}`;
  return new Problem('unauthenticated', { detail });
};
