import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../core/problems.ts';
import { presentedToken } from './credentials.ts';

export const CSRF_COOKIE = 'csrftoken';
export const CSRF_HEADER = 'x-csrftoken';

const NONCE_BYTES = 16;
/** Nonce and HMAC-SHA-256, both hexadecimal. */
const FORM = /^([0-9a-f]{32})\.([0-9a-f]{64})$/;

export type Csrf = ReturnType<typeof createCsrf>;

/**
 * CSRF tokens by signed double submit: the header must equal the cookie, and both must have been made for the
 * very login that presents them, so that a cookie planted from elsewhere is worth nothing.
 */
export const createCsrf = ({ secretKey, secure }: { secretKey: string; secure: boolean }) => {
  const macOf = (nonce: string, login: string): string =>
    createHmac('sha256', secretKey).update(`csrf\0${nonce}\0${login}`).digest('hex');

  const isGenuine = (token: string, login: string): boolean => {
    const [, nonce, mac] = FORM.exec(token) ?? [];
    if (nonce === undefined || mac === undefined) return false;
    return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(nonce, login)));
  };

  return {
    /** Gives the caller a token by cookie, keeping one that is still good. */
    issue: (request: FastifyRequest, reply: FastifyReply): string => {
      const login = loginOf(request);
      const current = request.cookies[CSRF_COOKIE];
      if (current !== undefined && isGenuine(current, login)) return current;

      const nonce = randomBytes(NONCE_BYTES).toString('hex');
      const token = `${nonce}.${macOf(nonce, login)}`;
      reply.setCookie(CSRF_COOKIE, token, { path: '/', sameSite: 'lax', secure });
      return token;
    },

    /** @throws Problem `csrf-failed` */
    check: (request: FastifyRequest): void => {
      const header = request.headers[CSRF_HEADER];
      const cookie = request.cookies[CSRF_COOKIE];
      const genuine = typeof header === 'string' && header === cookie && isGenuine(header, loginOf(request));
      if (!genuine) throw new Problem('csrf-failed');
    },
  };
};

/** What a token is bound to: the login presented, whether or not it turns out to be good. */
const loginOf = (request: FastifyRequest): string => presentedToken(request) ?? 'anonymous';
