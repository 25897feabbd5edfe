import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { escapeInvisible, type Html, html } from '../../lib/html.ts';
import { createStyleSheet, sendHtml } from '../pages/page-layout.ts';
import type { Endpoint } from '../rest/endpoints.ts';
import { createLinkResolver, findApiPath } from './api-paths.ts';
import { curlCommand, trpcCall } from './code-samples.ts';
import { breadcrumbs, methodBadge, methodsCard, relatedEndpointsCard } from './endpoint-cards.ts';
import { highlightJson, MAX_INDENT } from './json-highlighter.ts';

const FILES = ['../pages/frame.css', '../pages/parts.css', 'browsable.css', 'json.css'];
const INDENTS = Array.from({ length: MAX_INDENT + 1 }, (_, level) => `.line.in${level}{--in:${level}}`);
const style = createStyleSheet(
  FILES.map((file) => new URL(file, import.meta.url)),
  INDENTS.join(''),
);

type ResponseContent = {
  /** The response as JSON, or the start of it. */
  json: string;
  type: string;
  /** Shown above the JSON. */
  notes: readonly Html[];
};

/** Sends a response of the API as a page for developers, with the status and headers that the reply already has. */
export const sendResponsePage = (reply: FastifyReply, content: ResponseContent) => {
  const { request } = reply;
  const path = findApiPath(request.routeOptions.url);
  const params = request.params as Record<string, string>; // of our own routes: Fastify gives them as text
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const endpoint = path?.endpoints.find((each) => each.method === method) ?? path?.endpoints[0];
  const requestPath = request.url.replace(/\?.*$/s, '');
  const query = request.url.slice(requestPath.length);
  return sendHtml(reply, {
    title: `${request.method} ${requestPath} – Steward`,
    style,
    bodyClass: 'api',
    body: html`<a class="skip" href="#response">Skip to the response</a>
<header><img src="/avatars/S.svg" alt="" width="32" height="32"><p>Steward API</p>
<nav aria-label="Service"><a href="/docs/">API reference</a> <a href="/">Your account</a></nav></header>
<main>
<h1>${methodBadge(request.method)}${breadcrumbs(path, params, requestPath)}${query !== '' && html`<span class="query">${query}</span>`}</h1>
<div class="columns">
<div>${responseCard(reply, content)}</div>
<div>${endpoint && codeCard(endpoint, request)}${path && relatedEndpointsCard(path, params)}${path && methodsCard(path)}</div>
</div>
</main>`,
    csp: { 'form-action': "'none'" },
  });
};

const responseCard = (reply: FastifyReply, { json, type, notes }: ResponseContent): Html => {
  const { request, statusCode } = reply;
  const resolveLink = createLinkResolver(request.routeOptions.url ?? '', request.url);
  const { lines, isComplete } = highlightJson(json, resolveLink);
  return html`
<section class="card" aria-labelledby="response">
<h2 id="response" tabindex="-1"><span class="status ${statusCode < 400 ? 'good' : 'bad'}">${statusCode} ${STATUS_CODES[statusCode]}</span></h2>
${headerList(reply, type)}
${notes}
${!isComplete && html`<p class="note">This response is too long for this page. Request it as JSON to get all of it.</p>`}
<pre class="json">${lines}</pre>
</section>`;
};

/** Headers that matter to a caller. The others protect this page; a JSON response has different ones. */
const SHOWN_HEADERS =
  /^(allow|etag|link|location|preference-applied|retry-after|www-authenticate|x-(count|next|page|pagesize|previous|request-id))$/;

/** The headers that the response would have as JSON. */
const headerList = (reply: FastifyReply, type: string): Html => {
  const shown = Object.entries(reply.getHeaders()).filter(([name]) => SHOWN_HEADERS.test(name));
  return html`<dl class="headers">
<dt>content-type</dt><dd>${type}</dd>
${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${name === 'link' ? linkHeader(String(value)) : escapeInvisible(String(value))}</dd>\n`)}
</dl>`;
};

/** A Link header (RFC 8288: `<path>; rel="next", …`) in which URLs of this API are links. */
const linkHeader = (header: string): Html[] =>
  header.split(/(<[^<>]*>)/).map((part) => {
    const target = /^<(?:https?:\/\/[^/<>]+)?(\/api\/[^<>]*)>$/.exec(part)?.[1];
    return target === undefined
      ? html`${escapeInvisible(part)}`
      : html`&lt;<a href="${target}">${escapeInvisible(target)}</a>&gt;`;
  });

const codeCard = (endpoint: Endpoint, request: FastifyRequest): Html => html`
<section class="card" aria-labelledby="code">
<h2 id="code">Call it from code</h2>
<h3>TypeScript (tRPC)</h3>
<pre class="call">${trpcCall({ endpoint, request })}</pre>
<h3>Shell (JSON)</h3>
<pre class="call">${curlCommand({ endpoint, request }, 'application/json')}</pre>
${
  endpoint.csv &&
  html`<h3>Shell (CSV)</h3>
<pre class="call">${curlCommand({ endpoint, request }, 'text/csv')}</pre>`
}
</section>`;
