import type { z } from 'zod';
import { type Html, html } from '../pages/html.ts';
import type { Endpoint } from '../rest/endpoints.ts';
import { takesBody } from './code-samples.ts';
import type { ApiPath } from './endpoint-paths.ts';
import { methodBadge } from './navigation.ts';

/** What the path takes: each method, and the fields of its query or body. */
export const takenMethods = ({ endpoints }: ApiPath): Html => html`
<section class="card" aria-labelledby="takes">
<h2 id="takes">What this path takes</h2>
<dl class="takes">${endpoints.map(takenMethod)}</dl>
<p class="aside">The <a href="/docs/">reference</a> says what each of them means.</p>
</section>`;

const takenMethod = (endpoint: Endpoint): Html => {
  const { fields, inQuery } = fieldsOf(endpoint);
  return html`
<dt>${methodBadge(endpoint.method)}</dt>
<dd>${fieldList(fields, 'Nothing but the path.', takesBody(endpoint) ? 'In the body: ' : 'In the query: ')}
${takesBody(endpoint) && inQuery.length > 0 && fieldList(inQuery, '', 'In the query: ')}
${endpoint.rest.many !== undefined && html`<br>Or an array of these.`}</dd>\n`;
};

type Field = { key: string; isRequired: boolean };

const fieldList = (fields: readonly Field[], none: string, before: string): Html =>
  fields.length === 0
    ? html`${none}`
    : html`${before}${fields.map(
        ({ key, isRequired }, index) =>
          html`${index > 0 && ', '}<code>${key}</code>${isRequired && html` <small>(required)</small>`}`,
      )}.`;

const fieldsOf = ({ input, pathKeys, rest }: Endpoint): { fields: Field[]; inQuery: Field[] } => {
  const own = Object.entries(input.shape).filter(([key]) => !pathKeys.includes(key));
  const inQuery = own.filter(([key]) => rest.query?.includes(key));
  const whole = rest.many ?? rest.body;
  const body = whole === undefined ? own : Object.entries(shapeWithin(input.shape[whole]));
  return {
    fields: body.filter(([key]) => !rest.query?.includes(key)).map(fieldOf),
    inQuery: inQuery.map(fieldOf),
  };
};

type Schema = z.core.$ZodType | undefined;

const fieldOf = ([key, schema]: [string, z.core.$ZodType]): Field => ({
  key,
  isRequired: schema._zod.optin === undefined,
});

/** Arrays, defaults and transforms wrap the object whose keys are the fields. */
type Def = {
  type: string;
  shape?: Record<string, z.core.$ZodType>;
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
  element?: z.core.$ZodType;
};

const shapeWithin = (schema: Schema): Record<string, z.core.$ZodType> => {
  const def: Def | undefined = schema?._zod.def;
  const inner = def?.element ?? def?.innerType ?? def?.in;
  return def?.shape ?? (inner ? shapeWithin(inner) : {});
};
