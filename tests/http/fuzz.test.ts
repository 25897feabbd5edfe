import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { type Endpoint, restEndpoints } from '../../src/http/rest-endpoints.ts';
import { appSuite } from '../support/app-suite.ts';
import { ADA, ROOT, STAFF } from '../support/test-app.ts';

const fuzz = appSuite('any input at all');

const RUNS_PER_ENDPOINT = 60;

/** Text that has broken services before, among whatever else there is. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '\0',
    '\ud800',
    "'; drop table users; --",
    '../..',
    '%00',
    '__proto__',
    'a'.repeat(300),
    '🙂',
  ),
  fc.constantFrom('1', '2', 'zylTKNVx', 'a0a91e46', 'sales', ADA, 'true', 'latest', '2147483648'),
);
const value = fc.oneof(
  text,
  fc.jsonValue(),
  fc.integer(),
  fc.boolean(),
  fc.array(fc.oneof(text, fc.integer()), { maxLength: 4 }),
  fc.constantFrom(null, 1e308, -1, 2 ** 53, {}, [], [[]], { __proto__: null }),
);

/** Bodies with the keys that the endpoint knows, some left out, and values of every kind. */
const bodyOf = ({ input, rest }: Endpoint) => {
  const keys = Object.fromEntries(Object.keys(input.shape).map((key) => [key, value]));
  const object = fc.record(
    { ...keys, email: value, hash: value, name: value, initial_apps: value },
    { requiredKeys: [] },
  );
  return fc.oneof(
    { weight: 8, arbitrary: object },
    value,
    rest.many ? fc.array(object, { maxLength: 5 }) : value,
  );
};

const pathOf = ({ url, pathKeys }: Endpoint, texts: string[]): string =>
  pathKeys.reduce((path, key, index) => path.replace(`:${key}`, encode(texts[index] ?? 'x')), url);

/** Half of a surrogate pair has no UTF-8 and so no percent-encoding. */
const encode = (part: string): string => encodeURIComponent(part.toWellFormed() || 'x');

for (const endpoint of restEndpoints()) {
  fuzz(`${endpoint.method} ${endpoint.url} answers it with less than 500`, async ({ app }) => {
    const request = fc.record({
      who: fc.constantFrom(ROOT, STAFF, ADA),
      path: fc.array(text, { minLength: 2, maxLength: 2 }),
      query: fc.dictionary(fc.constantFrom('app', 'window', 'status', 'client', 'dry_run', 'x'), text),
      body: bodyOf(endpoint),
    });

    await fc.assert(
      fc.asyncProperty(request, async ({ who, path, query, body }) => {
        const search = Object.entries(query).map(([key, part]) => `${key}=${encode(part)}`);
        const response = await app.send(`${endpoint.method} !${pathOf(endpoint, path)}?${search.join('&')}`, {
          as: who,
          ...(endpoint.method !== 'GET' && { payload: JSON.stringify(body) }),
          headers: { 'content-type': 'application/json' },
        });
        assert.ok(response.statusCode < 500, `${response.statusCode} ${response.body}`);
        if (response.statusCode < 400) return;
        const problem = response.json();
        assert.is(problem.status, response.statusCode);
        assert.ok(problem.detail && problem.instance, response.body);
      }),
      { numRuns: RUNS_PER_ENDPOINT },
    );
  });
}

fuzz.run();
