import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import manifest from '../../package.json' with { type: 'json' };
import { openApiDocument } from '../../src/http/openapi/document.ts';

type Media = Record<string, { schema: object }>;
type Answer = { $ref?: string; content?: Media; 'x-steward-content-types'?: string[] };
export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: object;
  example?: unknown;
};
export type Operation = {
  operationId: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { required: boolean; content: Media };
  responses: Record<string, Answer>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Answer>; schemas: Record<string, { examples?: unknown[] }> };
};

/** The document as the service serves it. */
export const openApi = JSON.parse(JSON.stringify(openApiDocument(manifest.version))) as Document; // what the document is made as

const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true, strictRequired: false });
addFormats.default(ajv);
ajv.addSchema(components(openApi.components.schemas));

const compiled = new WeakMap<object, ValidateFunction>();

/** The validation errors of a value. */
export const validationErrors = (schema: object, value: unknown): string[] => {
  const validate = compiled.get(schema) ?? ajv.compile(absolute(schema));
  compiled.set(schema, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
};

/** JSON Schema validators do not know OpenAPI components, so a separate schema defines them. */
function components(schemas: object): object {
  return { $id: 'components', $defs: absolute(schemas) };
}

function absolute(schema: object): object {
  return JSON.parse(
    JSON.stringify(schema).replaceAll('"$ref":"#/components/schemas/', '"$ref":"components#/$defs/'),
  );
}

type Route = { path: string; pattern: RegExp; operations: Record<string, Operation> };

const routes: Route[] = Object.entries(openApi.paths).map(([path, operations]) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '([^/]+)')}$`),
  operations,
}));

/** The operation that serves a path: fixed segments win over parameters. */
export const operationFor = (
  method: string,
  url: string,
): { path: string; operation: Operation } | undefined => {
  const path = url.replace(/\?.*$/s, '').replace(/(?<!\.json|healthz|readyz)\/?$/, (slash) => slash || '/');
  const [found] = routes
    .filter(({ pattern }) => pattern.test(path))
    .toSorted((one, other) => one.path.split('{').length - other.path.split('{').length);
  const operation = found?.operations[method === 'HEAD' ? 'get' : method.toLowerCase()];
  return found && operation && { path: found.path, operation };
};

const resolved = (answer: Answer | undefined): Answer | undefined =>
  answer?.$ref === undefined ? answer : openApi.components.responses[answer.$ref.split('/').at(-1) ?? ''];

export type ReceivedResponse = { statusCode: number; body: string; headers: Record<string, unknown> };

/** The ways in which a response differs from the document. */
export const responseErrors = (operation: Operation, method: string, answer: ReceivedResponse): string[] => {
  const documented = resolved(operation.responses[answer.statusCode]);
  if (answer.statusCode === 204 && answer.body === '' && acceptsPreference(operation)) return [];
  if (!documented) return [`${answer.statusCode} is not documented: ${answer.body.slice(0, 200)}`];
  // With `Prefer: return=minimal`, a creation has a `Location` but no body.
  const isBare = method === 'HEAD' || !documented.content || answer.headers.location !== undefined;
  if (answer.body === '' && isBare) return [];
  if (!documented.content) return [`a body with ${answer.statusCode}: ${answer.body.slice(0, 200)}`];
  const form = String(answer.headers['content-type']).replace(/;.*$/, '');
  if (documented['x-steward-content-types']?.includes(form)) return [];
  const media = documented.content[form];
  if (!media) return [`${form} is not documented for ${answer.statusCode}`];
  // Tests that request compression compare the result with the uncompressed response.
  if (answer.headers['content-encoding'] !== undefined) return [];
  return validationErrors(media.schema, /json$/.test(form) ? JSON.parse(answer.body) : answer.body);
};

/** `Prefer: return=minimal` turns a 200 into a 204. The document says so only in words. */
const acceptsPreference = ({ parameters = [] }: Operation): boolean =>
  parameters.some((parameter) => '$ref' in parameter && parameter.$ref.endsWith('/Prefer'));

/** The parameters of the path and the query. */
export const parametersOf = ({ parameters = [] }: Operation): Parameter[] =>
  parameters.filter((parameter) => 'name' in parameter);

type Asked = { path: string; url: string; body: unknown };

/** The ways in which a request differs from the document. */
export const requestErrors = (operation: Operation, { path, url, body }: Asked): string[] => {
  const { pathname, searchParams } = new URL(url, 'http://steward.test');
  const inPath =
    new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`).exec(pathname)?.groups ?? {};
  const known = parametersOf(operation);
  const unknown = [...searchParams.keys()].filter(
    (key) => !known.some((parameter) => parameter.in === 'query' && isNameOf(parameter, key)),
  );
  const parameterFaults = known.flatMap((parameter) => {
    const text = parameter.in === 'path' ? inPath[parameter.name] : searchParams.get(parameter.name);
    if (text === undefined || text === null)
      return parameter.required ? [`${parameter.name} is missing`] : [];
    return validationErrors(parameter.schema, read(parameter.schema, decodeURIComponent(text)));
  });
  const schema = operation.requestBody?.content['application/json']?.schema;
  const bodyFaults =
    schema && (body !== undefined || operation.requestBody?.required) ? validationErrors(schema, body) : [];
  return [...unknown.map((key) => `${key} is no parameter`), ...parameterFaults, ...bodyFaults];
};

/** Whether a key is this parameter, or a property of it that the query has as a separate parameter. */
const isNameOf = ({ name, schema }: Parameter, key: string): boolean => {
  const { patternProperties = {} } = schema as { patternProperties?: object }; // a JSON Schema
  return name === key || Object.keys(patternProperties).some((pattern) => new RegExp(pattern).test(key));
};

const read = (schema: { type?: string }, text: string): unknown =>
  ['integer', 'number', 'boolean'].includes(schema.type ?? '') ? JSON.parse(text) : text;

/** Throws if the response of a documented operation differs from the document. */
export const assertDocumented = (method: string, url: string, answer: ReceivedResponse): void => {
  const found = operationFor(method, url);
  if (!found) return;
  const faults = responseErrors(found.operation, method, answer);
  if (faults.length > 0)
    throw new Error(`${method} ${found.path} answers what is not documented: ${faults.join('; ')}`);
};

const PROJECT = join(import.meta.dirname, '../..');

/** The first TypeScript sample below a heading of a Markdown document, such as `## Generated clients` of `docs/rest.md`. */
export const readSample = async (document: string, heading: string): Promise<string> => {
  const text = await readFile(join(PROJECT, document), 'utf8');
  const [, section] = text.split(`\n${heading}\n`);
  const [, sample] = /^```ts\n([\s\S]*?)^```$/m.exec(section ?? '') ?? [];
  if (sample === undefined) throw new Error(`${document} has no TypeScript sample below ${heading}.`);
  return sample;
};
