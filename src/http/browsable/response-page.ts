import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseJson } from '../../lib/exact-json.ts';
import { escapeInvisible, type Html, html } from '../../lib/html.ts';
import { createStyleSheet, sendHtml } from '../pages/page-layout.ts';
import { type Endpoint, inputKeysOf } from '../rest/endpoints.ts';
import { hasBody, readInput } from '../rest/input.ts';
import { createLinkResolver, endpointsAt } from './api-paths.ts';
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
  const endpoints = endpointsAt(request.routeOptions.url);
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const endpoint = endpoints.find((each) => each.method === method) ?? endpoints[0];
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
<h1>${methodBadge(request.method)}${escapeInvisible(requestPath)}${query !== '' && html`<span class="query">${query}</span>`}</h1>
${endpoint && html`<p class="call">tRPC: <code>${trpcCall(endpoint, request)}</code></p>`}
${responseCard(reply, content)}
</main>`,
    csp: { 'form-action': "'none'" },
  });
};

const responseCard = (reply: FastifyReply, { json, type, notes }: ResponseContent): Html => {
  const { request, statusCode } = reply;
  const resolveLink = createLinkResolver(request.routeOptions.url ?? '', request.url);
  const { lines, isComplete } = highlightJson(parseJson(json), resolveLink);
  return html`
<section class="card" aria-labelledby="response">
<h2 id="response" tabindex="-1"><span class="status ${statusCode < 400 ? 'good' : 'bad'}">${statusCode} ${STATUS_CODES[statusCode]}</span></h2>
${headerList(reply, type)}
${notes}
${!isComplete && html`<p class="note">This response is too long for this page. Request it as JSON to get all of it.</p>`}
<pre class="json">${lines}</pre>
</section>`;
};

/** The headers that matter to a caller. The others protect this page; a JSON response has different ones. */
const SHOWN_HEADERS =
  /^(allow|etag|link|location|preference-applied|retry-after|www-authenticate|x-(count|next|page|pagesize|previous|request-id))$/;

/** The headers that the response would have as JSON. */
const headerList = (reply: FastifyReply, type: string): Html => {
  const shown = Object.entries(reply.getHeaders()).filter(([name]) => SHOWN_HEADERS.test(name));
  return html`<dl class="headers">
<dt>content-type</dt><dd>${type}</dd>
${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${escapeInvisible(String(value))}</dd>\n`)}
</dl>`;
};

const methodBadge = (method: string): Html =>
  html`<span class="method ${method.toLowerCase()}">${method}</span> `;

/** The request as a call of the TypeScript client: `client.users.get.query({ email: 'ada@acme.test' })`. */
const trpcCall = (endpoint: Endpoint, request: FastifyRequest): string => {
  const { params, query } = request as { params: Record<string, string>; query: Record<string, unknown> }; // Fastify parses both into text
  // Without the body, which may contain a password.
  const { input } = readInput(endpoint, { params, query, body: {} });
  const bodyKeys = inputKeysOf(endpoint).body;
  const properties = Object.entries(input)
    .filter(([key]) => !bodyKeys.includes(key))
    .map(([key, value]) => `${key}: ${literal(value)}`);
  if (hasBody(endpoint)) properties.push('…');
  const method = endpoint.type === 'query' ? 'query' : 'mutate';
  const argument = properties.length === 0 ? '{}' : `{ ${properties.join(', ')} }`;
  return `client.${endpoint.procedure}.${method}(${argument})`;
};

/** A TypeScript literal, in single quotes if the string needs no escaping. */
const literal = (value: unknown): string => {
  if (value instanceof Date) return `new Date('${value.toISOString()}')`;
  if (typeof value === 'bigint') return `${value}n`;
  const json = escapeInvisible(JSON.stringify(value) ?? 'undefined');
  return typeof value === 'string' && json === `"${value}"` && !value.includes("'") ? `'${value}'` : json;
};
