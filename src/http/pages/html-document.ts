import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { type Html, html, trusted } from './html.ts';

export type StyleSheet = ReturnType<typeof createStyleSheet>;

/**
 * Reads CSS files into one inline style sheet. It is a few kilobytes, and an error page then needs no second request to a
 * failing service. `cspSource` is its hash for the `style-src` directive, so the policy allows this style sheet only.
 */
export const createStyleSheet = (...files: URL[]) => {
  const css = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  return {
    css: trusted(css),
    cspSource: `'sha256-${createHash('sha256').update(css).digest('base64')}'`,
  };
};

type HtmlDocument = { title: string; icon: string; style: StyleSheet; bodyClass?: string; body: Html };

/** A complete HTML document, excluded from search engines. */
export const htmlDocument = ({
  title,
  icon,
  style,
  bodyClass,
  body,
}: HtmlDocument): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${icon}">
<style>${style.css}</style>
</head>
<body${bodyClass !== undefined && html` class="${bodyClass}"`}>
${body}
</body>
</html>
`;

/** Directives of a Content-Security-Policy that differ between pages, e.g. `{ 'form-action': "'self'" }`. */
export type CspDirectives = Readonly<Record<string, string>>;

/** Sends a document that must not be framed, cached or sniffed, with the status that the reply already has. */
export const sendHtml = (reply: FastifyReply, document: Html, directives: CspDirectives): FastifyReply =>
  withPrivacyHeaders(reply)
    .type('text/html; charset=utf-8')
    .header('content-security-policy', contentSecurityPolicy(directives))
    .header('x-content-type-options', 'nosniff')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('cross-origin-resource-policy', 'same-origin')
    .send(document.toString());

/** Redirects with 303, so that the browser continues with a GET after a form. */
export const redirectTo = (reply: FastifyReply, location: string): FastifyReply =>
  withPrivacyHeaders(reply).code(303).header('location', location).send();

/**
 * URLs of pages may contain secrets. `strict-origin` hides paths and queries from other sites; `no-referrer` would also
 * make browsers send `Origin: null` with every form, which is indistinguishable from a cross-site form.
 */
const withPrivacyHeaders = (reply: FastifyReply): FastifyReply =>
  reply.header('referrer-policy', 'strict-origin').header('cache-control', 'no-store');

const contentSecurityPolicy = (directives: CspDirectives): string =>
  Object.entries({
    'default-src': "'none'",
    ...directives,
    'frame-ancestors': "'none'",
    'base-uri': "'none'",
  })
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');
