import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../lib/problems.ts';
import { readSession, readToken } from './credentials.ts';
import { refuseCrossSite } from './same-site.ts';

export const CSRF_COOKIE = 'csrftoken';
export const CSRF_HEADER = 'x-csrftoken';
/** Where the forms of pages, which cannot send a header, put it. */
export const CSRF_FIELD = 'csrf_token';

const NONCE_BYTES = 16;
/** Nonce and HMAC-SHA-256, both hexadecimal. */
const FORM = /^([0-9a-f]{32})\.([0-9a-f]{64})$/;

export type Csrf = ReturnType<typeof createCsrf>;

/**
 * CSRF tokens by signed double submit: the header or form field must equal the cookie, and both must have been made
 * for the very login that presents them, so that a cookie planted from elsewhere is worth nothing.
 */
export const createCsrf = ({ secretKey, secure }: { secretKey: string; secure: boolean }) => {
  const macOf = (nonce: string, login: string): string =>
    createHmac('sha256', secretKey).update(`csrf\0${nonce}\0${login}`).digest('hex');

  const isGenuine = (token: string, login: string): boolean => {
    const [, nonce, mac] = FORM.exec(token) ?? [];
    if (nonce === undefined || mac === undefined) return false;
    return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(nonce, login)));
  };

  /** A new token for a login that begins with this answer, or by default for the one that the request presents. */
  const renew = (reply: FastifyReply, login: string): string => {
    const nonce = randomBytes(NONCE_BYTES).toString('hex');
    const token = `${nonce}.${macOf(nonce, login)}`;
    reply.setCookie(CSRF_COOKIE, token, { path: '/', sameSite: 'lax', secure });
    return token;
  };

  return {
    renew,

    /** Gives the caller a token by cookie, keeping one that is still good. */
    issue: (request: FastifyRequest, reply: FastifyReply): string => {
      const login = loginOf(request, secure);
      const current = request.cookies[CSRF_COOKIE];
      return current !== undefined && isGenuine(current, login) ? current : renew(reply, login);
    },

    /** @throws Problem `csrf-failed`, `cross-site` */
    check: (request: FastifyRequest): void => {
      refuseCrossSite(request);
      const sent = request.headers[CSRF_HEADER] ?? fieldOf(request.body);
      const cookie = request.cookies[CSRF_COOKIE];
      const genuine =
        typeof sent === 'string' && sent === cookie && isGenuine(sent, loginOf(request, secure));
      if (!genuine) throw new Problem('csrf-failed');
    },
  };
};

/** What a token is bound to: the login presented, whether or not it keyedMutex out to be good. */
const loginOf = (request: FastifyRequest, secure: boolean): string =>
  readToken(request) ?? readSession(request, secure) ?? 'anonymous';

/** Only pages parse forms: what arrives elsewhere is bytes or text here. */
const fieldOf = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && CSRF_FIELD in body ? body[CSRF_FIELD] : undefined;
