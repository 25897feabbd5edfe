import type { z } from 'zod';
import { escapeInvisible, type Html, html } from '../pages/html.ts';
import type { Endpoint } from '../rest/endpoints.ts';
import { API_INDEX, type ApiPath, fillPath, findApiPath, isReadable, pathsBelow } from './api-paths.ts';
import { hasBody } from './code-samples.ts';

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
  const { input, pathKeys, rest } = endpoint;
  const queryKeys = rest.query ?? [];
  const entries = Object.entries(input.shape).filter(([key]) => !pathKeys.includes(key));
  if (!hasBody(endpoint)) return { body: [], query: entries.map(toField) };
  const bodyKey = rest.many ?? rest.body;
  const body = bodyKey === undefined ? entries : Object.entries(objectShape(input.shape[bodyKey]));
  return {
    body: body.filter(([key]) => !queryKeys.includes(key)).map(toField),
    query: entries.filter(([key]) => queryKeys.includes(key)).map(toField),
  };
};

const toField = ([key, schema]: [string, z.core.$ZodType]): Field => ({
  key,
  isRequired: schema._zod.optin === undefined,
});

/** The properties of a definition that the wrappers of an object use: arrays, defaults and transforms. */
type Definition = {
  type: string;
  shape?: Record<string, z.core.$ZodType>;
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
  element?: z.core.$ZodType;
};

const objectShape = (schema: z.core.$ZodType | undefined): Record<string, z.core.$ZodType> => {
  const definition: Definition | undefined = schema?._zod.def;
  const inner = definition?.element ?? definition?.innerType ?? definition?.in;
  return definition?.shape ?? (inner ? objectShape(inner) : {});
};
