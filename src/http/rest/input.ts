import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseJson as parseExactly } from '../../lib/exact-json.ts';
import { type FieldErrors, invalid, Problem } from '../../lib/problems.ts';
import { type Endpoint, inputKeysOf, unwrapSchema } from './endpoints.ts';
import { type ErrorsMember, errorsByField } from './problem-document.ts';
import { type Fields, isForm, parseForm, parseTexts, readForm, withBooleans } from './texts.ts';

/** A bulk request of 10,000 usage entries contains about 300,000 values. `JSON.parse` of 500,000 takes up to 150 ms. */
const MAX_VALUES = 500_000;
/** Shorter texts are always parsed fast. */
const MIN_CHECKED_LENGTH = 1024 * 1024;
const [COMMA, BRACKET, BRACE] = [',', '[', '{'].map((character) => character.charCodeAt(0));

/**
 * Reads every body as a buffer, regardless of its content type. Fastify would reject a malformed type (`application-json`) even without a
 * body, so the header is first moved into the request state.
 */
export const parseBodiesAsBuffers = (app: FastifyInstance): void => {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers, rawHeaders } = request.raw;
    // If there are several, the last one; `headers` has the first. PHP clients append the content type of a multipart body to the default
    // of their library.
    const index = rawHeaders.findLastIndex((text, at) => at % 2 === 0 && /^content-type$/i.test(text));
    if (index !== -1) request.state.mediaType = rawHeaders[index + 1] ?? '';
    delete headers['content-type'];
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
};

/**
 * Parses the body as JSON or as a form. An empty body is `{}`, regardless of its content type.
 * @throws Problem `unsupported-media-type`, `malformed-body`, or `invalid-input` for too many JSON values
 */
export const readBody = async (
  endpoint: Endpoint,
  { body: bytes, state }: FastifyRequest,
): Promise<unknown> => {
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return {};
  const { mediaType } = state;
  if (isForm(mediaType)) return parseForm(bodyFieldsOf(endpoint), await readForm(bytes, mediaType));
  if (!isJson(mediaType)) throw new Problem('unsupported-media-type');
  return parseJson(bytes);
};

/** RFC 8259 §8.1: JSON is UTF-8. A body without a content type is read as JSON. */
const isJson = (mediaType: string): boolean => {
  const [type = '', ...parameters] = mediaType.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  return (
    (type === '' || type === 'application/json') && (charset === undefined || /^"?utf-?8"?$/.test(charset))
  );
};

const parseJson = (bytes: Buffer): unknown => {
  if (!isUtf8(bytes)) throw new Problem('malformed-body', { detail: 'The body is not valid UTF-8.' });
  // Drops a byte order mark.
  const text = new TextDecoder().decode(bytes);
  limitJsonComplexity(text);
  try {
    return text.trim() === '' ? {} : parseExactly(text);
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? describeJsonError(cause.message) : '';
    throw new Problem('malformed-body', { detail: `The body is not valid JSON${reason}.`, cause });
  }
};

/**
 * Limits the number of values before parsing, at 2 ns per character: 16 MiB of `[],[],[]` would block the event loop for seconds. Also
 * counts characters inside strings, which does not matter at this limit.
 * @throws Problem `invalid-input`
 */
export const limitJsonComplexity = (text: string): void => {
  if (text.length <= MIN_CHECKED_LENGTH) return;
  let values = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === COMMA || code === BRACKET || code === BRACE) values += 1;
  }
  if (values > MAX_VALUES)
    throw invalid({
      body: [`Must not contain more than ${MAX_VALUES} values. Split it into several requests.`],
    });
};

const REASON = /^Unexpected (end of JSON input|token '.')| JSON at position \d+ \((line \d+ column \d+)\)$/su;

/** The part of `JSON.parse`'s message that describes the error. The rest may quote the body, which may contain secrets. */
const describeJsonError = (message: string): string => {
  const [, unexpected, position] = REASON.exec(message) ?? [];
  if (position !== undefined) return `: error in ${position}`;
  return unexpected === undefined ? '' : `: unexpected ${unexpected}`;
};

type Parts = {
  params: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
};

/** The input of the procedure, and the arrangement of its result and errors: like the body, one object or an array. */
type RestInput = {
  input: Record<string, unknown>;
  contentOf: (result: unknown) => unknown;
  errors: (fields: FieldErrors) => ErrorsMember;
};

/**
 * Merges path, query and body into the input of the procedure. If the method has a body, only the keys of `rest.query` are read from the
 * query. The path overrides the query, and the query overrides the body, so that the body cannot address another resource.
 * @throws Problem `malformed-body` if the body is not an object (or, where allowed, an array)
 */
export const readInput = (endpoint: Endpoint, { params, query, body }: Parts): RestInput => {
  const { input } = endpoint;
  const { many, body: bodyKey, query: queryKeys = [] } = endpoint.rest;
  const sentKeys = inputKeysOf(endpoint).query.filter((key) => Object.hasOwn(query, key));
  const urlInput = {
    ...parseTexts(input.shape, sentKeys, query),
    ...dottedInput(endpoint, query),
    ...parseTexts(input.shape, endpoint.pathKeys, params),
  };
  if (!hasBody(endpoint)) return singleInput(urlInput);
  const fields = bodyFieldsOf(endpoint);

  if (many !== undefined) {
    const isSingle = !Array.isArray(body);
    const elements: unknown[] = isSingle ? [objectBody(body)] : body;
    const items = elements.map((element) => withBooleans(fields, element));
    const errors = (fields: FieldErrors) =>
      isSingle ? errorsByField(withoutPrefix(fields, `${many}.0.`)) : errorsByIndex(fields, many);
    const contentOf = (result: unknown) => (isSingle && Array.isArray(result) ? result[0] : result);
    return { input: { ...urlInput, [many]: items }, contentOf, errors };
  }
  const content = withBooleans(fields, objectBody(body));
  // In the body, keys of the query are ignored like unknown keys.
  for (const key of queryKeys) delete content[key];
  return singleInput(
    bodyKey === undefined ? { ...content, ...urlInput } : { ...urlInput, [bodyKey]: content },
    bodyKey,
  );
};

/** The fields of the object in the body, or of each object in its array. */
const bodyFieldsOf = ({ input, rest: { many, body } }: Endpoint): Fields => {
  const key = many ?? body;
  const schema = key === undefined ? input : unwrapSchema(input.shape[key] ?? input);
  const element = schema instanceof z.ZodArray ? schema.element : schema;
  const item = (element instanceof z.ZodType && element.meta()?.sent) || unwrapSchema(element);
  return item instanceof z.ZodObject ? item.shape : {};
};

export const hasBody = ({ method }: Endpoint): boolean => method !== 'GET' && method !== 'DELETE';

const singleInput = (input: Record<string, unknown>, prefix?: string): RestInput => ({
  input,
  contentOf: (result) => result,
  errors: (fields) => errorsByField(prefix === undefined ? fields : withoutPrefix(fields, `${prefix}.`)),
});

const objectBody = (body: unknown): Record<string, unknown> => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Problem('malformed-body', { detail: 'The request body must be a JSON object.' });
  }
  return { ...body };
};

/** The object whose properties are in the query, as in `flags.color=red`. */
const dottedInput = ({ rest: { dotted } }: Endpoint, query: Record<string, unknown>) => {
  if (dotted === undefined) return {};
  const prefix = `${dotted}.`;
  const given = Object.entries(query).filter(([key]) => key.startsWith(prefix));
  const properties = given.map(([key, value]) => [key.slice(prefix.length), value]);
  return given.length === 0 ? {} : { [dotted]: Object.fromEntries(properties) };
};

/** Removes a prefix from the paths of errors. If two paths become equal, both lists of messages are kept. */
const withoutPrefix = (fields: FieldErrors, prefix: string): FieldErrors => {
  const errors: FieldErrors = {};
  for (const [path, messages] of Object.entries(fields)) {
    const key = path.startsWith(prefix) ? path.slice(prefix.length) : path;
    errors[key] = [...(errors[key] ?? []), ...messages];
  }
  return errors;
};

/** Groups errors by the index of the element; errors of the array itself are listed under `body`. */
const errorsByIndex = (fields: FieldErrors, many: string): ErrorsMember => {
  const elements: Record<string, FieldErrors> = {};
  const rest: FieldErrors = {};
  for (const [path, messages] of Object.entries(withoutPrefix(fields, `${many}.`))) {
    const [, index, inside] = /^(\d+)\.(.+)$/s.exec(path) ?? [];
    // The caller sent only an array as the body, without the procedure's key.
    if (index === undefined || inside === undefined) rest[path === many ? 'body' : path] = messages;
    else {
      elements[index] ??= {};
      elements[index][inside] = messages;
    }
  }
  const indexed = Object.entries(elements).map(([index, errors]) => [index, errorsByField(errors)]);
  return { ...errorsByField(rest), ...Object.fromEntries(indexed) };
};
