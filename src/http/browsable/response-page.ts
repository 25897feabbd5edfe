import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Html, html } from '../pages/html.ts';
import type { Endpoint } from '../rest/endpoints.ts';
import { takenMethods } from './allowed-methods.ts';
import { curlCommand, trpcCall } from './code-samples.ts';
import { type BrowsablePage, sendBrowsable } from './document.ts';
import { apiPath } from './endpoint-paths.ts';
import { jsonLines } from './json-lines.ts';
import { methodBadge, pathsFromHere, pathTrail } from './navigation.ts';
import { answerHeaders } from './response-headers.ts';
import { valueLinks } from './value-links.ts';

export type Shown = {
  /** What the answer would be as JSON, or its beginning. */
  json: string;
  type: string;
  /** Said above the JSON. */
  notes: readonly Html[];
};

/** Sends a page that shows the answer as somebody reads it who is about to write a program. */
export const sendAnswer = (request: FastifyRequest, reply: FastifyReply, shown: Shown) => {
  const path = apiPath(request.routeOptions.url);
  const params = request.params as Record<string, string>; // of our own routes: Fastify gives them as text
  const endpoint = path?.endpoints.find(({ method }) => method === methodOf(request));
  const shownPath = request.url.replace(/\?.*$/s, '');
  const page: BrowsablePage = {
    title: `${request.method} ${shownPath}`,
    heading: html`${methodBadge(request.method)}${pathTrail(path, params, shownPath)}${queryOf(request)}`,
    answer: answerCard(request, reply, shown),
    aside: [
      path?.endpoints[0] !== undefined && sameCalls(endpoint ?? path.endpoints[0], request),
      path !== undefined && pathsFromHere(path, params),
      path !== undefined && takenMethods(path),
    ],
  };
  return sendBrowsable(reply, page);
};

const methodOf = ({ method }: FastifyRequest): string => (method === 'HEAD' ? 'GET' : method);

const queryOf = ({ url }: FastifyRequest): Html | false =>
  url.includes('?') && html`<span class="query">${url.slice(url.indexOf('?'))}</span>`;

const answerCard = (request: FastifyRequest, reply: FastifyReply, { json, type, notes }: Shown): Html => {
  const status = reply.statusCode;
  const { lines, isWhole } = jsonLines(json, valueLinks(request.routeOptions.url ?? '', request.url));
  return html`
<section class="card" aria-labelledby="answer">
<h2 id="answer" tabindex="-1"><span class="status ${status < 400 ? 'good' : 'bad'}">${status} ${STATUS_CODES[status]}</span></h2>
${answerHeaders(reply, type)}
${notes}
${!isWhole && html`<p class="note">This is long: it is cut off here. JSON has the rest.</p>`}
<pre class="json">${lines}</pre>
</section>`;
};

const sameCalls = (endpoint: Endpoint, request: FastifyRequest): Html => html`
<section class="card" aria-labelledby="calls">
<h2 id="calls">The same call</h2>
<h3>TypeScript, by tRPC</h3>
<pre class="call">${trpcCall({ endpoint, request })}</pre>
<h3>Shell, as JSON</h3>
<pre class="call">${curlCommand({ endpoint, request }, 'application/json')}</pre>
${
  endpoint.csv &&
  html`<h3>Shell, as CSV</h3>
<pre class="call">${curlCommand({ endpoint, request }, 'text/csv')}</pre>`
}
</section>`;
