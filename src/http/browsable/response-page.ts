import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { parseJson } from '../../lib/exact-json.ts';
import { escapeInvisible, type Html, html } from '../../lib/html.ts';
import { createStyleSheet, sendHtml } from '../pages/page-layout.ts';
import { type Endpoint, fillPath, inputKeysOf, unwrapSchema } from '../rest/endpoints.ts';
import { hasBody, readInput } from '../rest/input.ts';
import {
  API_INDEX,
  type ApiPath,
  createLinkResolver,
  findApiPath,
  isReadable,
  pathsBelow,
} from './api-paths.ts';
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
<pre class="call">${trpcCall(endpoint, request)}</pre>
<h3>Shell (JSON)</h3>
<pre class="call">${curlCommand(endpoint, request, 'application/json')}</pre>
${
  endpoint.csv &&
  html`<h3>Shell (CSV)</h3>
<pre class="call">${curlCommand(endpoint, request, 'text/csv')}</pre>`
}
</section>`;

const MAX_RELATED_PATHS = 24;

type Params = Readonly<Record<string, string>>;

/** The path of the request as a breadcrumb trail: each readable ancestor is a link. */
const breadcrumbs = (path: ApiPath | undefined, params: Params, requestPath: string): Html => {
  if (!path) return html`${escapeInvisible(requestPath)}`;
  const segments = path.url.split('/').slice(1, -1);
  return html`/${segments.map((segment, index) => {
    const url = `/${segments.slice(0, index + 1).join('/')}/`;
    const label = fillPath(segment, params);
    const isLink = url === API_INDEX || (url !== path.url && isReadable(findApiPath(url)));
    return html`${isLink ? html`<a href="${fillPath(url, params)}">${label}</a>` : label}/<wbr>`;
  })}`;
};

const methodBadge = (method: string): Html =>
  html`<span class="method ${method.toLowerCase()}">${method}</span> `;

/** Lists the paths below this one with their methods. Paths with an unknown parameter are not links. */
const relatedEndpointsCard = ({ url }: ApiPath, params: Params): Html | false => {
  const related = pathsBelow(url).slice(0, MAX_RELATED_PATHS);
  if (related.length === 0) return false;
  return html`
<section class="card" aria-labelledby="related">
<h2 id="related">Related endpoints</h2>
<ul class="paths">${related.map((path) => pathRow(path, params))}</ul>
</section>`;
};

const pathRow = (path: ApiPath, params: Params): Html => {
  const target = fillPath(path.url, params);
  const label = target.slice(API_INDEX.length - 1);
  const isLink = isReadable(path) && !target.includes('{');
  return html`<li>${path.endpoints.map(({ method }) => methodBadge(method))}
${isLink ? html`<a href="${target}">${label}</a>` : html`<code>${label}</code>`}</li>\n`;
};

/** Lists each method of the path with the fields of its query and body. */
const methodsCard = ({ endpoints }: ApiPath): Html => html`
<section class="card" aria-labelledby="methods">
<h2 id="methods">Methods and fields</h2>
<dl class="method-list">${endpoints.map(methodRow)}</dl>
<p class="aside">The <a href="/docs/">API reference</a> describes each field.</p>
</section>`;

const methodRow = (endpoint: Endpoint): Html => {
  const { body, query } = fieldsOf(endpoint);
  return html`
<dt>${methodBadge(endpoint.method)}</dt>
<dd>${body.length + query.length === 0 && 'No parameters.'}
${fieldList('Body: ', body)}
${fieldList('Query: ', query)}
${endpoint.rest.many !== undefined && html`<br>The body can also be an array of such objects.`}</dd>\n`;
};

type Field = { key: string; isRequired: boolean };

const fieldList = (label: string, fields: readonly Field[]): Html | false =>
  fields.length > 0 &&
  html`${label}${fields.map(
    ({ key, isRequired }, index) =>
      html`${index > 0 && ', '}<code>${key}</code>${isRequired && html` <small>(required)</small>`}`,
  )}.`;

const fieldsOf = (endpoint: Endpoint): { body: Field[]; query: Field[] } => {
  const { shape } = endpoint.input;
  const { many, body: bodyKey = many } = endpoint.rest;
  const { query, body } = inputKeysOf(endpoint);
  const bodySchema = bodyKey === undefined ? undefined : shape[bodyKey];
  return {
    query: fieldsIn(shape, query),
    body: bodySchema ? fieldsIn(objectShape(bodySchema)) : fieldsIn(shape, body),
  };
};

type Shape = Readonly<Record<string, z.core.$ZodType>>;

const fieldsIn = (shape: Shape, keys: readonly string[] = Object.keys(shape)): Field[] =>
  keys.map((key) => ({ key, isRequired: shape[key]?._zod.optin === undefined }));

type Definition = { type: string; shape?: Shape; element?: z.core.$ZodType };

/** The fields of an object or of the objects in an array. */
const objectShape = (schema: z.core.$ZodType): Shape => {
  const { shape, element }: Definition = unwrapSchema(schema)._zod.def;
  return shape ?? (element ? objectShape(element) : {});
};

/** Longer objects are split into one property per line. On a phone, this fits beside the name of the procedure. */
const MAX_OBJECT_WIDTH = 16;

/** The request as a call of the TypeScript client: `client.users.get.query({ email: 'ada@acme.test' })`. */
const trpcCall = (endpoint: Endpoint, request: FastifyRequest): string => {
  const { params, query } = request as { params: Record<string, string>; query: Record<string, unknown> }; // Fastify parses both into text
  // The body is left out: it may contain a password.
  const { input } = readInput(endpoint, { params, query, body: {} });
  const bodyKeys = inputKeysOf(endpoint).body;
  const properties = Object.entries(input)
    .filter(([key]) => !bodyKeys.includes(key))
    .map(([key, value]) => `${key}: ${literal(value)}`);
  if (hasBody(endpoint)) properties.push('…');
  const method = endpoint.type === 'query' ? 'query' : 'mutate';
  return `client.${endpoint.procedure}.${method}(${objectLiteral(properties)})`;
};

const objectLiteral = (properties: readonly string[]): string => {
  if (properties.length === 0) return '{}';
  const line = `{ ${properties.join(', ')} }`;
  return line.length <= MAX_OBJECT_WIDTH
    ? line
    : `{\n${properties.map((property) => `  ${property},\n`).join('')}}`;
};

/** A TypeScript literal, in single quotes if the string needs no escaping. */
const literal = (value: unknown): string => {
  if (value instanceof Date) return `new Date('${value.toISOString()}')`;
  if (typeof value === 'bigint') return `${value}n`;
  const json = escapeInvisible(JSON.stringify(value) ?? 'undefined');
  return typeof value === 'string' && json === `"${value}"` && !value.includes("'") ? `'${value}'` : json;
};

/** The request as a curl command. */
const curlCommand = (endpoint: Endpoint, request: FastifyRequest, accept: string): string => {
  const lines = [endpoint.method === 'GET' ? 'curl' : `curl -X ${endpoint.method}`];
  if (!endpoint.isPublic) lines.push(`-H ${shellQuote('Authorization: Token …')}`);
  lines.push(`-H ${shellQuote(`Accept: ${accept}`)}`);
  if (hasBody(endpoint))
    lines.push(`-H ${shellQuote('Content-Type: application/json')}`, `-d ${shellQuote('{…}')}`);
  lines.push(shellQuote(`${request.protocol}://${request.host}${request.url}`));
  return lines.join(' \\\n  ');
};

/** For a POSIX shell, where nothing inside single quotes is expanded. */
const shellQuote = (text: string): string => `'${escapeInvisible(text).replaceAll("'", "'\\''")}'`;
