import type { FastifyReply } from 'fastify';
import type { EmbedSession } from '../../services/gate/embeds.ts';

/** Whether browsers accept cookies for https only: also from this machine, because others cannot read what is sent. */
export const acceptsSecureCookies = (baseUrl: string): boolean => {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'https:' || /^(.+\.)?localhost$/.test(hostname);
};

/** Each app has its own, so that several views are open at once. */
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
 * Keeps an embed session in the browser, also in frames of other sites: partitioned, so that each of these has its own.
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
