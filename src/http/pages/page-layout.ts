import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { type Html, html, htmlDocument, trusted } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';

/** The folder to which the build of the console writes its files. */
const CONSOLE_ASSETS = new URL('../../../console/dist/assets/', import.meta.url);

/** The rule for the console's font, whose cached file pages share. Without a console, pages use the fonts of the system. */
const fontRule = (): string => {
  const names = existsSync(CONSOLE_ASSETS) ? readdirSync(CONSOLE_ASSETS) : [];
  const name = names.find((file) => /^inter-latin-wght-normal-[\w-]+\.woff2$/.test(file));
  return name === undefined
    ? ''
    : `@font-face{font-family:"Inter Variable";font-weight:100 900;font-display:swap;src:url(/console/assets/${name})format("woff2")}`;
};

/**
 * Reads CSS files into one inline style sheet. It is a few kilobytes, and an error page needs no second request to a failing service.
 * `cspSource` is its hash for the `style-src` directive, so that the policy allows only this style sheet.
 */
export const createStyleSheet = (files: URL[], rules = '') => {
  const css = files.map((file) => readFileSync(file, 'utf8')).join('\n') + rules + fontRule();
  return {
    css: trusted(css),
    cspSource: `'sha256-${createHash('sha256').update(css).digest('base64')}'`,
  };
};

type StyleSheet = ReturnType<typeof createStyleSheet>;
type HtmlResponse = {
  title: string;
  icon?: string;
  style: StyleSheet;
  bodyClass?: string | false;
  body: Html;
  /** Directives of the Content-Security-Policy that differ from the defaults. */
  csp: Readonly<Record<string, string>>;
  /** Origins whose pages may show this one in a frame. */
  frameAncestors?: readonly string[] | undefined;
};

/** Sends a document with the status of the reply. It must not be indexed, cached or sniffed, and only the given origins may frame it. */
export const sendHtml = (
  reply: FastifyReply,
  { title, icon = '/avatars/S.svg', style, bodyClass = false, body, csp, frameAncestors = [] }: HtmlResponse,
): FastifyReply => {
  const isFramed = frameAncestors.length > 0;
  // Browsers that support `frame-ancestors` ignore this header, but it cannot name origins.
  if (isFramed) reply.removeHeader('x-frame-options');
  const document = htmlDocument({
    title,
    head: html`<meta name="robots" content="noindex">
<link rel="icon" href="${icon}">
<style>${style.css}</style>`,
    bodyAttributes: bodyClass !== false && html` class="${bodyClass}"`,
    body,
  });
  const policy = Object.entries({
    'default-src': "'none'",
    'style-src': style.cspSource,
    'img-src': "'self'",
    'font-src': "'self'",
    ...csp,
    'frame-ancestors': isFramed ? frameAncestors.join(' ') : "'none'",
    'base-uri': "'none'",
  });
  return reply
    .header('referrer-policy', REFERRER_POLICY)
    .type('text/html; charset=utf-8')
    .header('content-security-policy', policy.map((directive) => directive.join(' ')).join('; '))
    .header('cross-origin-resource-policy', isFramed ? 'cross-origin' : 'same-origin')
    .send(document.toString());
};

/**
 * URLs of pages may contain secrets. `strict-origin` hides paths and queries from other sites. `no-referrer` would also make browsers send
 * `Origin: null` with every form, which looks like a cross-site form.
 */
const REFERRER_POLICY = 'strict-origin';

/** Redirects with 303, so that the browser continues with a GET after a form. */
export const redirectTo = (
  reply: FastifyReply,
  location: string,
  referrerPolicy: typeof REFERRER_POLICY | 'no-referrer' = REFERRER_POLICY,
): FastifyReply =>
  reply.header('referrer-policy', referrerPolicy).code(303).header('location', location).send();

const style = createStyleSheet(['frame.css', 'parts.css'].map((file) => new URL(file, import.meta.url)));

export type Page = {
  /** What every page shows of the client of its site. */
  brand: { client_name: string; support_email: string };
  /** Title of the tab; `content` contains the heading. */
  title: string;
  content: Html;
  /** For lists, which need more width than forms. */
  isWide?: boolean;
  /** The failure that the page reports. Sets the status and `Retry-After`. */
  problem?: Problem | null;
  status?: number;
  /** Sources for the `form-action` directive, see `formActionSources`. */
  formAction?: string;
  /** Origins whose pages may show this one in a frame. */
  frameAncestors?: readonly string[];
  /** Whether it has a script of the service, which calls the API. */
  hasScript?: boolean;
};

const SCRIPT_SOURCES = { 'script-src': "'self'", 'connect-src': "'self'" };

/** Sends a page for users in the common layout. */
export const sendPage = (reply: FastifyReply, page: Page): FastifyReply => {
  const { brand, title, content, isWide, problem, status = problem?.status ?? 200 } = page;
  if (problem?.retryAfterSeconds !== undefined) reply.header('retry-after', problem.retryAfterSeconds);
  const icon = iconUrl(brand.client_name);
  return sendHtml(reply.code(status), {
    title: `${title} – ${brand.client_name}`,
    icon,
    style,
    bodyClass: isWide === true && 'wide',
    body: html`<header><img src="${icon}" alt="" width="40" height="40"><p>${brand.client_name}</p></header>
<main>
${content}
</main>
${brand.support_email !== '' && html`<footer><p>Need help? Contact ${mailLink(brand.support_email)}.</p></footer>`}`,
    csp: { 'form-action': page.formAction ?? "'self'", ...(page.hasScript === true && SCRIPT_SOURCES) },
    frameAncestors: page.frameAncestors,
  });
};

/** The generated avatar for the first letter or digit of the client's name. */
const iconUrl = (clientName: string): string =>
  `/avatars/${encodeURIComponent(/[\p{L}\p{N}]/u.exec(clientName)?.[0] ?? 'S')}.svg`;

export const mailLink = (address: string): Html =>
  html`<a href="mailto:${encodeURIComponent(address).replaceAll('%40', '@')}">${address}</a>`;

/** Requests of apps for authorization (OpenID Connect) are long. */
const MAX_PATH_LENGTH = 4096;

/**
 * A path on this host as browsers send it: printable ASCII after a single slash. After a second slash or a backslash, browsers would read
 * the name of another host; and they drop tabs and line breaks before they parse a URL.
 */
const LOCAL_PATH = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

/** Returns the path if it leads to this host, otherwise null. Prevents open redirects. */
export const localPath = (path: string | undefined): string | null =>
  path !== undefined && path.length <= MAX_PATH_LENGTH && LOCAL_PATH.test(path) ? path : null;

/** The page after the login of a client's user: the client's `home_location` if that is a local path or a web URL, otherwise `/`. */
export const homeUrl = (location: string): string => localPath(location) ?? webUrl(location) ?? '/';

/** The URL in ASCII, as a header requires. */
const webUrl = (location: string): string | null => {
  const url = URL.parse(location);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null;
};

/** The `form-action` sources for a form that may lead to any app. */
export const TO_ANY_SITE = "'self' http: https:";

/**
 * The `form-action` sources for a form that redirects to `destination`. Chromium checks every redirect after a form
 * against this directive, including redirects by the other host, so the directive allows its scheme rather than the host.
 */
export const formActionSources = (destination: string): string => {
  const own = destination.startsWith('/oidc/') ? redirectScheme(destination) : '';
  const opensApp = destination.startsWith('/launch/') || own !== '';
  const scheme = URL.parse(destination)?.protocol;
  if (scheme === undefined && !opensApp) return "'self'";
  if (own !== '') return `${TO_ANY_SITE} ${own}`;
  return scheme === 'https:' ? "'self' https:" : TO_ANY_SITE;
};

/** The scheme of the address to which a login or logout by OpenID Connect returns: an app may have its own. */
const redirectScheme = (path: string): string => {
  const query = new URLSearchParams(path.slice(path.indexOf('?')));
  const uri = query.get('redirect_uri') ?? query.get('post_logout_redirect_uri') ?? '';
  return /^[a-z][a-z\d+.-]*:/.exec(uri)?.[0] ?? '';
};

/** The login page that continues to `next`. @param flag a parameter without a value */
export const loginPath = (next: string, flag?: 'late' | 'enrol' | 'again'): string =>
  pathWith('/login/', { ...(next !== '/' && { next }), ...(flag && { [flag]: '1' }) });

/** The page that asks for the second factor. */
export const codePath = (next: string | null, flag?: 'recovery' | 'passkey'): string =>
  pathWith('/login/code/', { ...(next !== null && { next }), ...(flag && { [flag]: '1' }) });

/** The page that sets up a second factor during a login. */
export const enrolPath = (next: string | null): string =>
  pathWith('/login/enrol/', { ...(next !== null && { next }) });

/** The page that asks a logged-in user for the step that `next` needs and their session lacks. */
export const stepUpPath = (step: 'code' | 'enrol' | 'passkey', next: string): string => {
  if (step === 'enrol') return loginPath(next, 'enrol');
  return step === 'code' ? codePath(next) : codePath(next, 'passkey');
};

const pathWith = (path: string, query: Record<string, string>): string =>
  Object.keys(query).length === 0 ? path : `${path}?${new URLSearchParams(query)}`;
