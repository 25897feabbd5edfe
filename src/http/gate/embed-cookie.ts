/** Each app has its own, so that several views are open at once. */
export const embedCookieName = (slug: string, isSecure: boolean): string =>
  `${isSecure ? '__Host-' : ''}steward_embed_${slug}`;
