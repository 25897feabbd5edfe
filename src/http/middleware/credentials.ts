import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import { isTrpcPath } from '../trpc/trpc-protocol.ts';

type BrowserCookie = 'session' | 'challenge' | 'passkey' | 'sso';

/**
 * The cookie's full name, such as `steward_session`. With https, it has the prefix `__Host-`: browsers then accept the cookie only from
 * this host. Otherwise, another host of the same domain could set a session cookie of its choice.
 */
export const cookieName = (cookie: BrowserCookie, isSecure: boolean): string =>
  `${isSecure ? '__Host-' : ''}steward_${cookie}`;

/** A cookie that only Steward reads: its value in the request, and functions to change it in the response. */
export const openCookie = (request: FastifyRequest, cookie: BrowserCookie, isSecure: boolean) => {
  const name = cookieName(cookie, isSecure);
  const options = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure } as const;
  return {
    value: request.cookies[name] ?? null,
    keep: (value: string, minutes: number): void => {
      request.state.reply.setCookie(name, value, { ...options, maxAge: minutes * 60 });
    },
    forget: (): void => {
      request.state.reply.clearCookie(name, options);
    },
  };
};

/** `Token` is the documented scheme; newer clients send the other two. */
const AUTHORIZATION = /^(?:token|bearer|jwt) +(\S+) *$/i;
/** Other schemes, such as the `Basic` of a proxy, are not meant for Steward. */
const TOKEN_SCHEME = /^(?:token|bearer|jwt)(?: |$)/i;

/** The API token in the `Authorization` header, or null. */
export const readToken = (request: FastifyRequest): string | null =>
  AUTHORIZATION.exec(request.headers.authorization ?? '')?.[1] ?? null;

/** The secret of the browser session, or null. Ignored if the request has a token, even a malformed one. */
export const readSession = (request: FastifyRequest, isSecure: boolean): string | null =>
  TOKEN_SCHEME.test(request.headers.authorization ?? '')
    ? null
    : (request.cookies[cookieName('session', isSecure)] ?? null);

const HOW_TO_SEND =
  'Send the header `Authorization: Token <token>`, with a token of POST /api/v1/api-token-auth/.';
const HOW_TO_RENEW = 'Get a new one with POST /api/v1/api-token-auth/.';

/** The problem of a request without valid credentials, with the reason and what to do. */
export const unauthenticated = (request: FastifyRequest, isSecure: boolean): Problem => {
  const { authorization } = request.headers;
  if (readSession(request, isSecure) !== null)
    return new Problem('unauthenticated', { detail: 'The session is invalid or expired. Log in again.' });
  const hasToken = authorization !== undefined && TOKEN_SCHEME.test(authorization);
  // Front ends show messages to people, and their client library sends the header.
  if (isTrpcPath(request.url))
    return new Problem('unauthenticated', {
      detail: hasToken ? 'Your login has ended. Log in again.' : 'You are not logged in. Log in to continue.',
    });
  if (hasToken)
    return new Problem('unauthenticated', { detail: `The token is invalid or expired. ${HOW_TO_RENEW}` });
  const what = authorization === undefined ? 'No credentials were sent.' : 'Unknown authorization scheme.';
  return new Problem('unauthenticated', { detail: `${what} ${HOW_TO_SEND}` });
};

const CSRF_COOKIE = 'csrftoken';
const CSRF_COOKIES = /(?:^|;)\s*csrftoken=([^;\s]*)/g;
export const CSRF_HEADER = 'x-csrftoken';
/** The form field for pages, which cannot set a header. */
export const CSRF_FIELD = 'csrf_token';

const NONCE_BYTES = 16;
/** Nonce and HMAC-SHA-256 in hexadecimal. */
const TOKEN_FORMAT = /^([0-9a-f]{32})\.([0-9a-f]{64})$/;

const PROXY_HINT = 'Behind a proxy, preserve the Host header or set TRUST_PROXY.';
const MAX_SHOWN_LENGTH = 255;

export type Csrf = ReturnType<typeof createCsrf>;

/**
 * CSRF protection by signed double submit: the header or form field must equal the cookie, and the token must be signed for the credential
 * of the request. A cookie planted by another site is therefore useless.
 */
export const createCsrf = ({ secretKey, secure }: { secretKey: string; secure: boolean }) => {
  const macOf = (nonce: string, credential: string): string =>
    createHmac('sha256', secretKey).update(`csrf\0${nonce}\0${credential}`).digest('hex');

  const isValid = (token: string, credential: string): boolean => {
    const [, nonce, mac] = TOKEN_FORMAT.exec(token) ?? [];
    if (nonce === undefined || mac === undefined) return false;
    return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(nonce, credential)));
  };

  /** Sets a new token. After a login, `credential` is the new session, not the request's. */
  const renew = (reply: FastifyReply, credential: string): string => {
    const nonce = randomBytes(NONCE_BYTES).toString('hex');
    const token = `${nonce}.${macOf(nonce, credential)}`;
    reply.setCookie(CSRF_COOKIE, token, { path: '/', sameSite: 'lax', secure });
    return token;
  };

  return {
    renew,

    /** Returns the token of the cookie if it is valid, else sets a new one. */
    issue: (request: FastifyRequest, reply: FastifyReply): string => {
      const credential = credentialOf(request, secure);
      return csrfCookies(request).find((token) => isValid(token, credential)) ?? renew(reply, credential);
    },

    /** @throws Problem `csrf-failed`, `cross-site` */
    check: (request: FastifyRequest): void => {
      refuseCrossSite(request);
      const sent = request.headers[CSRF_HEADER] ?? fieldOf(request.body);
      const isGenuine =
        typeof sent === 'string' &&
        csrfCookies(request).includes(sent) &&
        isValid(sent, credentialOf(request, secure));
      if (!isGenuine) throw new Problem('csrf-failed');
    },
  };
};

/** Browsers may send several. One may be Django's for a parent domain, which may come first. */
const csrfCookies = ({ headers: { cookie = '' } }: FastifyRequest): string[] =>
  Array.from(cookie.matchAll(CSRF_COOKIES), ([, token = '']) => token);

/** The credential that a token is bound to, whether valid or not. */
const credentialOf = (request: FastifyRequest, secure: boolean): string =>
  readToken(request) ?? readSession(request, secure) ?? 'anonymous';

/** Only pages parse forms: all other bodies are a buffer or a string here. */
const fieldOf = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && CSRF_FIELD in body ? body[CSRF_FIELD] : undefined;

/**
 * Refuses a request that a page of another site caused. Browsers set `Sec-Fetch-Site` and `Origin` themselves, and pages cannot change
 * them. A request without both is not from a browser, or is a plain read. Behind a proxy that rewrites `Host`, requests of the service's
 * own pages look foreign: the error and the log show both sides.
 * @throws Problem `cross-site`
 */
export const refuseCrossSite = (request: FastifyRequest): void => {
  const { origin: header } = request.headers;
  if (request.headers['sec-fetch-site'] === 'cross-site') throw new Problem('cross-site');
  if (header === undefined || hostOf(header) === request.host.toLowerCase()) return;

  const origin = header.slice(0, MAX_SHOWN_LENGTH);
  const host = request.host.slice(0, MAX_SHOWN_LENGTH);
  request.log.warn({ origin, host }, `Refused: Origin does not match Host. ${PROXY_HINT}`);
  const detail = `The origin ${origin} does not match the host ${host} of this request. ${PROXY_HINT}`;
  throw new Problem('cross-site', { detail });
};

/** Undefined for the origin `null`, which sandboxed pages send. */
const hostOf = (origin: string): string | undefined => URL.parse(origin)?.host;
