import type { FastifyReply } from 'fastify';

/** Each app has its own cookie, so that a person can look at several at once. */
export const lookCookieName = (slug: string, isSecure: boolean): string =>
  `${isSecure ? '__Host-' : ''}steward_view_as_${slug}`;

/** Not in frames of other sites. */
const attributesOf = (isSecure: boolean) =>
  ({ path: '/', httpOnly: true, secure: isSecure, sameSite: 'lax' }) as const;

/** Longer than any look: afterwards, the gate refuses the browser until it launches the app. */
const MAX_AGE_SECONDS = 12 * 60 * 60;

export const keepLook = (reply: FastifyReply, slug: string, secret: string, isSecure: boolean): void => {
  reply.setCookie(lookCookieName(slug, isSecure), secret, {
    ...attributesOf(isSecure),
    maxAge: MAX_AGE_SECONDS,
  });
};

export const forgetLook = (reply: FastifyReply, slug: string, isSecure: boolean): void => {
  reply.clearCookie(lookCookieName(slug, isSecure), attributesOf(isSecure));
};
