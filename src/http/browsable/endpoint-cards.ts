import type { z } from 'zod';
import { escapeInvisible, type Html, html } from '../../lib/html.ts';
import { type Endpoint, inputKeysOf, unwrapSchema } from '../rest/endpoints.ts';
import { API_INDEX, type ApiPath, fillPath, findApiPath, isReadable, pathsBelow } from './api-paths.ts';

const MAX_RELATED_PATHS = 24;

type Params = Readonly<Record<string, string>>;

/** The path of the request as a breadcrumb trail: each readable ancestor is a link. */
export const breadcrumbs = (path: ApiPath | undefined, params: Params, requestPath: string): Html => {
  if (!path) return html`${escapeInvisible(requestPath)}`;
  const segments = path.url.split('/').slice(1, -1);
  return html`/${segments.map((segment, index) => {
    const url = `/${segments.slice(0, index + 1).join('/')}/`;
    const label = fillPath(segment, params);
    const isLink = url === API_INDEX || (url !== path.url && isReadable(findApiPath(url)));
    return html`${isLink ? html`<a href="${fillPath(url, params)}">${label}</a>` : label}/<wbr>`;
  })}`;
};

export const methodBadge = (method: string): Html =>
  html`<span class="method ${method.toLowerCase()}">${method}</span> `;

/** Lists the paths below this one with their methods. Paths with an unknown parameter are not links. */
export const relatedEndpointsCard = ({ url }: ApiPath, params: Params): Html | false => {
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
export const methodsCard = ({ endpoints }: ApiPath): Html => html`
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
