import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EmbedSession } from '../../services/gate/embed-sessions.ts';

/**
 * One cookie for each app, because a page may embed several. With https, the name gets the `__Host-` prefix, as that of
 * sessions.
 */
export const embedCookieName = (appSlug: string, isSecure: boolean): string =>
  `${isSecure ? '__Host-' : ''}steward_embed_${appSlug}`;

/** The secret of the embed session for an app, or null. */
export const readEmbedSecret = (request: FastifyRequest, appSlug: string, isSecure: boolean): string | null =>
  request.cookies[embedCookieName(appSlug, isSecure)] ?? null;

/**
 * Keeps an embed session in the browser, also in frames of other sites: partitioned, so that each of them has its own. Without
 * https, browsers accept such cookies only from pages of the same site.
 */
export const keepEmbedSession = (
  reply: FastifyReply,
  appSlug: string,
  { secret, maxAgeSeconds }: EmbedSession,
  isSecure: boolean,
): void => {
  const inFrames = { secure: true, sameSite: 'none', partitioned: true } as const;
  reply.setCookie(embedCookieName(appSlug, isSecure), secret, {
    path: '/',
    httpOnly: true,
    maxAge: maxAgeSeconds,
    ...(isSecure ? inFrames : { sameSite: 'lax' }),
  });
};
