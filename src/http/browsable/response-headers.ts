import type { FastifyReply } from 'fastify';
import { type Html, html } from '../pages/html.ts';
import { visible } from './visible-text.ts';

/** Those that a caller may act on. What protects the page itself is no part of the answer that it shows. */
const TOLD =
  /^(allow|etag|last-modified|link|location|preference-applied|retry-after|www-authenticate|x-.*)$/;
const UNTOLD =
  /^x-(content-type-options|frame-options|dns-prefetch-control|download-options|permitted-cross-domain-policies|xss-protection)$/;

/** The headers of the answer, as it would have as JSON. */
export const answerHeaders = (reply: FastifyReply, type: string): Html => {
  const told = Object.entries(reply.getHeaders()).filter(([name]) => TOLD.test(name) && !UNTOLD.test(name));
  return html`<dl class="headers">
<dt>content-type</dt><dd>${type}</dd>
${told.map(([name, value]) => html`<dt>${name}</dt><dd>${name === 'link' ? links(String(value)) : visible(String(value))}</dd>\n`)}
</dl>`;
};

/** RFC 8288: `<path>; rel="next", …`. Those of this host can be followed. */
const links = (header: string): Html[] =>
  header.split(/(<[^<>]*>)/).map((part) => {
    const target = /^<(?:https?:\/\/[^/<>]+)?(\/api\/[^<>]*)>$/.exec(part)?.[1];
    return target === undefined
      ? html`${visible(part)}`
      : html`&lt;<a href="${target}">${visible(target)}</a>&gt;`;
  });
