import { z } from 'zod';
import { type FieldErrors, Problem } from '../../lib/problems.ts';
import { type Endpoint, inputKeysOf, unwrapSchema } from './endpoints.ts';
import { type ErrorsMember, errorsByField } from './problem-document.ts';

type Parts = {
  params: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
  /** Whether the body is a form, whose values are texts. */
  isForm?: boolean;
};

/** The input of the procedure, and how its errors are arranged: like the body, as one object or an array. */
type RestInput = {
  input: Record<string, unknown>;
  isSingle: boolean;
  errors: (fields: FieldErrors) => ErrorsMember;
};

/**
 * Merges path, query and body into the input of the procedure. The path overrides the query, and the query the body, so that
 * the body cannot address another resource.
 * @throws Problem `malformed-body` if the body is not an object, or where allowed an array
 */
export const readInput = (endpoint: Endpoint, { params, query, body, isForm = false }: Parts): RestInput => {
  const { many, body: bodyKey, query: queryKeys = [] } = endpoint.rest;
  const sentKeys = inputKeysOf(endpoint).query.filter((key) => Object.hasOwn(query, key));
  const urlInput = {
    ...parseTexts(endpoint, sentKeys, query),
    ...dottedInput(endpoint, query),
    ...parseTexts(endpoint, endpoint.pathKeys, params),
  };
  if (!hasBody(endpoint)) return singleInput(urlInput);

  if (many !== undefined) {
    const isSingle = !Array.isArray(body);
    const items = isSingle ? [objectBody(body)] : body;
    const errors = (fields: FieldErrors) =>
      isSingle ? errorsByField(withoutPrefix(fields, `${many}.0.`)) : errorsByIndex(fields, many);
    return { input: { ...urlInput, [many]: items }, isSingle, errors };
  }
  const content = isForm ? parseForm(endpoint, objectBody(body)) : objectBody(body);
  // In the body, the keys of the query are ignored like unknown keys.
  for (const key of queryKeys) delete content[key];
  return singleInput(
    bodyKey === undefined ? { ...content, ...urlInput } : { ...urlInput, [bodyKey]: content },
    bodyKey,
  );
};

export const hasBody = ({ method }: Endpoint): boolean => method !== 'GET' && method !== 'DELETE';

const singleInput = (input: Record<string, unknown>, prefix?: string): RestInput => ({
  input,
  isSingle: true,
  errors: (fields) => errorsByField(prefix === undefined ? fields : withoutPrefix(fields, `${prefix}.`)),
});

const objectBody = (body: unknown): Record<string, unknown> => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Problem('malformed-body', { detail: 'The request body must be a JSON object.' });
  }
  return { ...body };
};

/** The object whose properties the query has as `flags.color=red`. */
const dottedInput = ({ rest: { dotted } }: Endpoint, query: Record<string, unknown>) => {
  if (dotted === undefined) return {};
  const prefix = `${dotted}.`;
  const given = Object.entries(query).filter(([key]) => key.startsWith(prefix));
  const properties = given.map(([key, value]) => [key.slice(prefix.length), value]);
  return given.length === 0 ? {} : { [dotted]: Object.fromEntries(properties) };
};

/** Removes a prefix from the paths of errors. Where two paths become the same, both lists of messages are kept. */
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
    // The caller did not send the procedure's key, only an array as the body.
    if (index === undefined || inside === undefined) rest[path === many ? 'body' : path] = messages;
    else {
      elements[index] ??= {};
      elements[index][inside] = messages;
    }
  }
  const indexed = Object.entries(elements).map(([index, errors]) => [index, errorsByField(errors)]);
  return { ...errorsByField(rest), ...Object.fromEntries(indexed) };
};

/** Converts parameters of the URL to the types of the schema; JSON values are never converted. */
const parseTexts = ({ input }: Endpoint, keys: readonly string[], texts: Record<string, unknown>) =>
  Object.fromEntries(
    keys.map((key) => {
      const schema = input.shape[key];
      return [key, schema ? parseText(unwrapSchema(schema)._zod.def.type, texts[key]) : texts[key]];
    }),
  );

/** The values of a form as their types: Python writes `True`, objects are JSON, and an empty field may mean null. */
const parseForm = ({ input }: Endpoint, form: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(form).map(([key, text]) => {
      const schema = input.shape[key];
      return [key, schema && typeof text === 'string' ? parseFormText(schema, text) : text];
    }),
  );

const parseFormText = (schema: z.core.$ZodType, text: string): unknown => {
  if (text === '' && z.safeParse(schema, null).success) return null;
  const { type } = unwrapSchema(schema)._zod.def;
  if (type === 'custom' && text.startsWith('{')) return parseJsonText(text);
  return parseText(type, type === 'boolean' ? text.toLowerCase() : text);
};

const parseJsonText = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    // Fails in the schema, which requires an object.
    if (error instanceof SyntaxError) return text;
    throw error;
  }
};

/** A date, or a time with its UTC offset. */
const ISO_8601 = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

/** Text that does not parse is kept as it is, and fails in the schema with a proper message. */
const parseText = (type: string, text: unknown): unknown => {
  if (typeof text !== 'string') return text;
  if (type === 'number' && /^-?\d+$/.test(text)) return clampToSafeInteger(Number(text));
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  if (type === 'date' && ISO_8601.test(text) && isCalendarDate(text.slice(0, 10))) return new Date(text);
  return text;
};

/** Excludes dates such as 2026-02-30, which `Date` would read as March 2. */
const isCalendarDate = (text: string): boolean => {
  const day = new Date(text);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
};

/** Numbers beyond the safe integers are out of range for every id and count, so the exact value does not matter. */
const clampToSafeInteger = (number: number): number =>
  Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, number));
