import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { anyCharacter } from '../support/any-character.ts';
import { type Operation, openApi, type Parameter, parametersOf } from '../support/openapi.ts';
import { ADA, addressOf, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

type Schema = {
  $ref?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  type?: string;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
};

/** Longer texts would not find more bugs. */
const MAX_TEXT = 40;
const MAX_ITEMS = 3;
/** Ids and names of the demo workspace, so that not all requests end with 404. */
const KNOWN = ['1', '2', 'zylTKNVx', 'a0a91e46', 'sales', 'grace@acme.test', 'latest', 'pending'];
const NAMES = fc.constantFrom(...KNOWN);

/** Values that a schema of the OpenAPI document allows. */
const allowedBy = (schema: Schema): fc.Arbitrary<unknown> => {
  if (schema.$ref) return allowedBy(componentOf(schema.$ref));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map(allowedBy));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  return BY_TYPE[schema.type ?? '']?.(schema) ?? fc.jsonValue();
};

const BY_TYPE: Record<string, (schema: Schema) => fc.Arbitrary<unknown>> = {
  string: (schema) => textsOf(schema),
  integer: ({ minimum = -5, maximum = 2 ** 31 - 1 }) =>
    fc.oneof(
      fc.integer({ min: minimum, max: Math.min(maximum, minimum + 5) }),
      fc.integer({ min: minimum, max: maximum }),
    ),
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: ({ items }) => fc.array(allowedBy(items ?? {}), { maxLength: MAX_ITEMS }),
  object: ({ properties, required = [] }) =>
    properties
      ? fc.record(
          Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, allowedBy(inner)])),
          { requiredKeys: required },
        )
      : fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: MAX_ITEMS }),
};

const textsOf = ({ format, pattern, minLength = 0, maxLength = MAX_TEXT }: Schema): fc.Arbitrary<string> => {
  if (format === 'email') return fc.oneof(NAMES, fc.emailAddress());
  if (format === 'date-time')
    return fc.date({ noInvalidDate: true, min: new Date(0) }).map((date) => date.toISOString());
  // fast-check cannot generate text for patterns with a negative lookahead.
  if (pattern && !pattern.includes('(?!')) return fc.oneof(NAMES, fc.stringMatching(new RegExp(pattern)));
  return fc.oneof(
    NAMES,
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, MAX_TEXT) }),
  );
};

const componentOf = (ref: string): Schema =>
  openApi.components.schemas[ref.split('/').at(-1) ?? ''] as Schema; // the document has only schemas here

const fuzz = appSuite('random input');

/** `FUZZ_RUNS=130` sends 10,000 requests in all. */
const RUNS_PER_OPERATION = Number(process.env.FUZZ_RUNS ?? 30);

/** Random text, mixed with strings that often break services. */
const ODD = ['\0', '\ud800', "'; drop table users; --", '../..', '%00', '__proto__', 'a'.repeat(300), '🙂'];
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom(...ODD),
  fc.constantFrom(...KNOWN, ADA, 'true', '2147483648'),
);
const value = fc.oneof(
  text,
  fc.jsonValue(),
  fc.integer(),
  fc.boolean(),
  fc.array(fc.oneof(text, fc.integer()), { maxLength: 4 }),
  fc.constantFrom(null, 1e308, -1, 2 ** 53, {}, [], [[]], { __proto__: null }),
);

const textOf = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value);

/** Valid values, values that break a rule of the document, and random values. */
const textFor = ({ schema }: Parameter) =>
  fc.oneof({ weight: 3, arbitrary: allowedBy(schema).map(textOf) }, { weight: 1, arbitrary: text });

const bodyFor = ({ requestBody }: Operation): fc.Arbitrary<unknown> => {
  const schema = requestBody?.content['application/json']?.schema;
  if (!schema) return fc.oneof(fc.constant(undefined), value);
  const allowed = allowedBy(schema);
  return fc.oneof({ weight: 3, arbitrary: allowed }, { weight: 3, arbitrary: broken(allowed) }, value);
};

/** Replaces one nested value by a random one. */
const broken = (allowed: fc.Arbitrary<unknown>) =>
  fc.tuple(allowed, fc.nat(), value).map(([body, at, wrong]) => {
    const keys = typeof body === 'object' && body !== null ? Object.keys(body) : [];
    const key = keys[at % Math.max(keys.length, 1)];
    return key === undefined ? wrong : { ...(body as object), [key]: wrong }; // it has keys
  });

const HEADERS: Record<string, string[]> = {
  accept: ['application/json', 'text/csv', 'text/html', '*/*', 'image/png', 'text/*;q=0.1', ';'],
  'if-match': ['*', '"x"', 'W/"x"', 'x', '"x", "y"'],
  'if-none-match': ['*', '"x"', 'x'],
  'idempotency-key': ['a key', '"k"', 'k1', ''],
  prefer: ['return=representation', 'return=minimal', 'wait=10, return=minimal', '='],
  'accept-encoding': ['gzip', 'br', 'identity;q=0', 'x'],
};
const headers = fc
  .subarray(Object.entries(HEADERS))
  .chain((sent) =>
    fc.record(Object.fromEntries(sent.map(([name, values]) => [name, fc.constantFrom(...values)]))),
  );

/** A lone surrogate cannot be percent-encoded, and `.` or `..` would change the path. */
const encode = (part: string): string =>
  encodeURIComponent(/^\.{0,2}$/.test(part) ? 'x' : part.toWellFormed());

/** Its response does not end. */
const isStream = ({ responses }: Operation): boolean =>
  'text/event-stream' in (responses['200']?.content ?? {});

const statusOfStream = async (
  app: TestApp,
  line: string,
  who: string | undefined,
  headers: Record<string, string>,
): Promise<number> => {
  const [method = '', path = ''] = line.split(' !');
  const authorization = who && { authorization: `Token ${await app.tokenOf(who)}` };
  const leaving = new AbortController();
  const { signal } = leaving;
  const request = { method, headers: { ...headers, ...authorization }, signal };
  const response = await fetch(`${await addressOf(app)}${path}`, request);
  leaving.abort();
  return response.status;
};

/** Operations that end logins, which all others need, run last. */
const ENDS_LOGINS = /session|tokens|logins|password|roles|admins/;
const paths = Object.entries(openApi.paths).toSorted(
  ([one], [other]) => Number(ENDS_LOGINS.test(one)) - Number(ENDS_LOGINS.test(other)),
);

const requestOf = (method: string, operation: Operation) => {
  const parameters = parametersOf(operation);
  const texts = parameters.map((parameter) => [parameter.name, textFor(parameter)] as const);
  return fc.record({
    who: fc.constantFrom(ROOT, STAFF, ADA, undefined),
    method: fc.constantFrom(...(method === 'get' ? ['GET', 'GET', 'GET', 'HEAD'] : [method.toUpperCase()])),
    texts: fc.record(Object.fromEntries(texts)),
    sent: fc.subarray(parameters.filter((each) => each.in === 'query').map(({ name }) => name)),
    body: bodyFor(operation),
    headers,
  });
};

const operations = paths.flatMap(([path, all]) =>
  Object.entries(all).map(([method, operation]) => ({ path, method, operation })),
);

for (const { path, method: documented, operation } of operations)
  fuzz(`${documented} ${path} answers as documented, with a status below 500`, async ({ app }) => {
    const answers = fc.asyncProperty(
      requestOf(documented, operation),
      async ({ who, method, texts, sent, body, headers }) => {
        const url = path.replaceAll(/\{(\w+)\}/g, (_all, name) => encode(texts[name] ?? 'x'));
        const search = sent.map((name) => `${name}=${encode(texts[name] ?? '')}`);
        const line = `${method} !${url}?${search.join('&')}`;
        if (isStream(operation)) return assert.ok((await statusOfStream(app, line, who, headers)) < 500);
        const response = await app.send(line, {
          ...(who && { as: who }),
          ...(body !== undefined && { payload: JSON.stringify(body) }),
          headers: { ...headers, 'content-type': 'application/json' },
        });
        // An earlier operation may have put the app in maintenance.
        if (response.statusCode === 503 && response.body.includes('problem:app-in-maintenance')) return;
        assert.ok(response.statusCode < 500, `${response.statusCode} ${response.body}`);
      },
    );
    await fc.assert(answers, { numRuns: RUNS_PER_OPERATION });
  });

fuzz('does not stop the service', async ({ app }) => {
  assert.is((await app.send('GET !/readyz')).statusCode, 200);
  assert.is((await app.send('GET /branding/')).statusCode, 200);
});

fuzz.run();
