import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { REST_ENDPOINTS } from '../../../src/http/rest/endpoints.ts';
import { openApi, validationErrors } from '../../support/openapi.ts';

const FILE = join(import.meta.dirname, '..', '..', '..', 'docs', 'openapi.json');
const document = suite('OpenAPI document');
const operations = Object.values(openApi.paths).flatMap((path) => Object.values(path));

document('is the same as docs/openapi.json, which npm run openapi writes', async () => {
  assert.equal(JSON.parse(await readFile(FILE, 'utf8')), openApi);
});

document('has every REST path, with its trailing slash', () => {
  for (const { url, method, operationId } of REST_ENDPOINTS) {
    const path = url.replaceAll(/:(\w+)/g, '{$1}');
    assert.is(openApi.paths[path]?.[method.toLowerCase()]?.operationId, operationId);
  }
});

document('has a valid example for every component', () => {
  for (const [name, schema] of Object.entries(openApi.components.schemas)) {
    if (name === 'Problem') continue;
    assert.is(schema.examples?.length, 1, name);
    assert.equal(validationErrors(schema, schema.examples?.[0]), [], name);
  }
});

document('has an example of its type for every parameter', () => {
  for (const operation of operations)
    for (const parameter of operation.parameters ?? []) {
      if (!('schema' in parameter) || parameter.example === undefined) continue;
      const { name, schema, example } = parameter;
      assert.equal(validationErrors(schema, example), [], `${operation.operationId} ${name}`);
    }
});

document('has no component with the name of a type that generators make for an operation', () => {
  const generated = operations.map(({ operationId }) =>
    `${operationId}.result`.replaceAll(/(?:^|\.)(\w)/g, (_match, letter: string) => letter.toUpperCase()),
  );

  assert.is(generated.filter((name) => name in openApi.components.schemas).join(), '');
});

document('has only JSON in responses that can be JSON, and lists the other types apart', () => {
  const responses = operations.flatMap((operation) => Object.values(operation.responses));
  const all = [...responses, ...Object.values(openApi.components.responses)];
  for (const { content = {} } of all) {
    const types = Object.keys(content);
    const isJson = (type: string) => /[/+]json$/.test(type);
    assert.ok(types.every(isJson) || !types.some(isJson), types.join(', '));
  }
  const users = openApi.paths['/api/v1/jb/users/']?.get?.responses['200'];
  assert.equal(Object.keys(users?.content ?? {}), ['application/json']);
  assert.equal(users?.['x-steward-content-types'], ['text/csv', 'text/html']);
});

document('has no empty schemas', () => {
  const empty = (value: unknown, path: string): string[] => {
    if (typeof value !== 'object' || value === null) return [];
    const inside = Object.entries(value).flatMap(([key, child]) =>
      key === 'examples' || key === 'example' ? [] : empty(child, `${path}/${key}`),
    );
    const isSchema = /\/(schema|items|properties\/\w+)$/.test(path);
    return isSchema && Object.keys(value).length === 0 ? [path, ...inside] : inside;
  };

  const found = empty(openApi, '').filter((path) => !/\/default$/.test(path));
  assert.equal(found, []);
});

document.run();
