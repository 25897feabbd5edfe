import type { FastifyReply } from 'fastify';
import type { Problem } from '../../lib/problems.ts';
import { type Html, html } from './html.ts';
import { createStyleSheet, htmlDocument, sendHtml } from './html-document.ts';

const style = createStyleSheet(new URL('frame.css', import.meta.url), new URL('parts.css', import.meta.url));

/** What every page shows of the client whose site it is. */
export type Brand = { client_name: string; support_email: string };

export type Page = {
  brand: Brand;
  /** Title of the tab; `content` contains the heading. */
  title: string;
  content: Html;
  /** For lists, which need more room than forms. */
  isWide?: boolean;
};

type Options = {
  /** The failure that the page reports. Sets the status and `Retry-After`. */
  problem?: Problem | null;
  status?: number;
  /** Sources for the `form-action` directive, see `formActionSources`. */
  formAction?: string;
};

export const sendPage = (reply: FastifyReply, page: Page, options: Options = {}): FastifyReply => {
  const { problem, status = problem?.status ?? 200, formAction = "'self'" } = options;
  if (problem?.retryAfterSeconds !== undefined) reply.header('retry-after', problem.retryAfterSeconds);
  return sendHtml(reply.code(status), pageDocument(page), {
    'style-src': style.cspSource,
    'img-src': "'self'",
    'form-action': formAction,
  });
};

const pageDocument = ({ brand, title, content, isWide = false }: Page): Html => {
  const icon = iconUrl(brand);
  return htmlDocument({
    title: `${title} – ${brand.client_name}`,
    icon,
    style,
    ...(isWide && { bodyClass: 'wide' }),
    body: html`<header><img src="${icon}" alt="" width="40" height="40"><p>${brand.client_name}</p></header>
<main>
${content}
</main>
${footer(brand)}`,
  });
};

/** The generated avatar for the first letter or digit of the client's name. */
const iconUrl = ({ client_name: name }: Brand): string =>
  `/avatars/${encodeURIComponent(/[\p{L}\p{N}]/u.exec(name)?.[0] ?? 'S')}.svg`;

const footer = ({ support_email: address }: Brand): Html | false =>
  address !== '' && html`<footer><p>Need help? Contact ${mailLink(address)}.</p></footer>`;

export const mailLink = (address: string): Html =>
  html`<a href="mailto:${encodeURIComponent(address).replaceAll('%40', '@')}">${address}</a>`;
