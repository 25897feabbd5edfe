import type { FastifyReply } from 'fastify';
import type { EmbedSession } from '../../services/gate/embeds.ts';

/**
 * Whether browsers accept cookies for https only. They also accept them from this machine over http, because others cannot read its
 * traffic.
 */
export const acceptsSecureCookies = (baseUrl: string): boolean => {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'https:' || /^(.+\.)?localhost$/.test(hostname);
};

/** Each app has its own cookie, so that several views can be open at once. */
export const embedCookieName = (slug: string, isSecure: boolean): string =>
  `${isSecure ? '__Host-' : ''}steward_embed_${slug}`;

const attributesOf = (isSecure: boolean) => ({
  path: '/',
  httpOnly: true,
  ...(isSecure
    ? ({ secure: true, sameSite: 'none', partitioned: true } as const)
    : ({ sameSite: 'lax' } as const)),
});

/** Ends an access view in this browser, for a user who opens the app as themselves. */
export const forgetEmbedSession = (reply: FastifyReply, appSlug: string, isSecure: boolean): void => {
  reply.clearCookie(embedCookieName(appSlug, isSecure), attributesOf(isSecure));
};

/**
 * Stores an embed session in the browser. A secure cookie is partitioned: it also reaches frames of other sites, each with its own session.
 * Otherwise, it reaches only frames of the same site.
 */
export const keepEmbedSession = (
  reply: FastifyReply,
  appSlug: string,
  { secret, maxAgeSeconds }: EmbedSession,
  isSecure: boolean,
): void => {
  reply.setCookie(embedCookieName(appSlug, isSecure), secret, {
    ...attributesOf(isSecure),
    maxAge: maxAgeSeconds,
  });
};
