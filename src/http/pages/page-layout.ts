import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { type Html, html, trusted } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';

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

type StyleSheet = ReturnType<typeof createStyleSheet>;
type HtmlDocument = {
  title: string;
  icon: string;
  style: StyleSheet;
  bodyClass?: string | false;
  body: Html;
};

/** A complete HTML document, excluded from search engines. */
export const htmlDocument = ({
  title,
  icon,
  style,
  bodyClass = false,
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
<body${bodyClass !== false && html` class="${bodyClass}"`}>
${body}
</body>
</html>
`;

/** Directives of a Content-Security-Policy that differ between pages, e.g. `{ 'form-action': "'self'" }`. */
type CspDirectives = Readonly<Record<string, string>>;

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

const style = createStyleSheet(new URL('frame.css', import.meta.url), new URL('parts.css', import.meta.url));

export type Page = {
  /** What every page shows of the client whose site it is. */
  brand: { client_name: string; support_email: string };
  /** Title of the tab; `content` contains the heading. */
  title: string;
  content: Html;
  /** For lists, which need more room than forms. */
  isWide?: boolean;
  /** The failure that the page reports. Sets the status and `Retry-After`. */
  problem?: Problem | null;
  status?: number;
  /** Sources for the `form-action` directive, see `formActionSources`. */
  formAction?: string;
};

/** Sends a page for users in the common layout. */
export const sendPage = (reply: FastifyReply, page: Page): FastifyReply => {
  const { brand, title, content, isWide, problem, status = problem?.status ?? 200 } = page;
  if (problem?.retryAfterSeconds !== undefined) reply.header('retry-after', problem.retryAfterSeconds);
  const icon = iconUrl(brand.client_name);
  const document = htmlDocument({
    title: `${title} – ${brand.client_name}`,
    icon,
    style,
    bodyClass: isWide === true && 'wide',
    body: html`<header><img src="${icon}" alt="" width="40" height="40"><p>${brand.client_name}</p></header>
<main>
${content}
</main>
${brand.support_email !== '' && html`<footer><p>Need help? Contact ${mailLink(brand.support_email)}.</p></footer>`}`,
  });
  return sendHtml(reply.code(status), document, {
    'style-src': style.cspSource,
    'img-src': "'self'",
    'form-action': page.formAction ?? "'self'",
  });
};

/** The generated avatar for the first letter or digit of the client's name. */
const iconUrl = (clientName: string): string =>
  `/avatars/${encodeURIComponent(/[\p{L}\p{N}]/u.exec(clientName)?.[0] ?? 'S')}.svg`;

export const mailLink = (address: string): Html =>
  html`<a href="mailto:${encodeURIComponent(address).replaceAll('%40', '@')}">${address}</a>`;
