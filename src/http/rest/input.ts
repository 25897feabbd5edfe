import type { z } from 'zod';
import { type FieldErrors, Problem } from '../../lib/problems.ts';
import type { Endpoint } from './endpoints.ts';
import { type ErrorsMember, errorsByField } from './problem-document.ts';

type Parts = { params: Record<string, string>; query: Record<string, unknown>; body: unknown };

/** The input of the procedure, and how its faults are told in the form that the body had. */
export type RestInput = {
  input: Record<string, unknown>;
  isSingle: boolean;
  errors: (fields: FieldErrors) => ErrorsMember;
};

/**
 * Puts path, query and body together. What the path says wins over the query, and that over the body: nobody
 * changes one thing by the path and names another in the body.
 * @throws Problem `malformed-body` when the body has not the form that is due
 */
export const readInput = (endpoint: Endpoint, { params, query, body }: Parts): RestInput => {
  const { many, body: whole, query: queryKeys } = endpoint.rest;
  const isSafe = endpoint.method === 'GET';
  const queried = (isSafe ? Object.keys(endpoint.input.shape) : (queryKeys ?? [])).filter((key) =>
    Object.hasOwn(query, key),
  );
  const addressed = {
    ...parseTexts(endpoint, queried, query),
    ...parseTexts(endpoint, endpoint.pathKeys, params),
  };
  if (isSafe || endpoint.method === 'DELETE') return single(addressed);

  if (many !== undefined) {
    const isSingle = !Array.isArray(body);
    const items = isSingle ? [objectBody(body)] : body;
    const errors = (fields: FieldErrors) =>
      isSingle ? errorsOfSingle(fields, many) : errorsByIndex(fields, many);
    return { input: { ...addressed, [many]: items }, isSingle, errors };
  }
  const content = objectBody(body);
  // They are the query's: in the body they are keys like all others that nobody knows.
  for (const key of queryKeys ?? []) delete content[key];
  return single(
    whole === undefined ? { ...content, ...addressed } : { ...addressed, [whole]: content },
    whole,
  );
};

const single = (input: Record<string, unknown>, prefix?: string): RestInput => ({
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

/** The same faults by paths without this beginning. Two that meet in one path are both kept. */
const withoutPrefix = (fields: FieldErrors, prefix: string): FieldErrors => {
  const bare: FieldErrors = {};
  for (const [path, messages] of Object.entries(fields)) {
    const key = path.startsWith(prefix) ? path.slice(prefix.length) : path;
    bare[key] = [...(bare[key] ?? []), ...messages];
  }
  return bare;
};

const errorsOfSingle = (fields: FieldErrors, many: string): ErrorsMember =>
  errorsByField(withoutPrefix(fields, `${many}.0.`));

/** Faults of an element stand under its index; those of the array itself under its key. */
const errorsByIndex = (fields: FieldErrors, many: string): ErrorsMember => {
  const elements: Record<string, FieldErrors> = {};
  const rest: FieldErrors = {};
  for (const [path, messages] of Object.entries(withoutPrefix(fields, `${many}.`))) {
    const [, index, inside] = /^(\d+)\.(.+)$/s.exec(path) ?? [];
    // What is wrong with the array itself: the key is the procedure's, and nothing the caller has sent.
    if (index === undefined || inside === undefined) rest[path === many ? 'body' : path] = messages;
    else {
      elements[index] ??= {};
      elements[index][inside] = messages;
    }
  }
  const indexed = Object.entries(elements).map(([index, faults]) => [index, errorsByField(faults)]);
  return { ...errorsByField(rest), ...Object.fromEntries(indexed) };
};

/** Only what stands in a URL is read from text; JSON values are taken as they are. */
const parseTexts = (
  { input }: Endpoint,
  keys: readonly string[],
  texts: Record<string, unknown>,
): Record<string, unknown> =>
  Object.fromEntries(keys.map((key) => [key, parseText(schemaTypeOf(input.shape[key]), texts[key])]));

type Schema = z.core.$ZodType | undefined;

/** Defaults and options wrap the schema that says the kind, transforms follow it. */
type Def = { type: string; innerType?: z.core.$ZodType; in?: z.core.$ZodType };

const schemaTypeOf = (schema: Schema): string => {
  const def: Def | undefined = schema?._zod.def;
  const inner = def?.innerType ?? def?.in;
  return inner ? schemaTypeOf(inner) : (def?.type ?? 'unknown');
};

/** A day, or a moment of it with its offset. */
const ISO_8601 = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

/** What is no number, boolean or date stays text, and the schema says what is wrong with it. */
const parseText = (kind: string, text: unknown): unknown => {
  if (typeof text !== 'string') return text;
  if (kind === 'number' && /^-?\d+$/.test(text)) return clampToSafeInteger(Number(text));
  if (kind === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  if (kind === 'date' && ISO_8601.test(text) && isCalendarDate(text.slice(0, 10))) return new Date(text);
  return text;
};

/** 2026-02-30 is none: `Date` would read it as the 2nd of March. */
const isCalendarDate = (text: string): boolean => {
  const day = new Date(text);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
};

/** A number too large to be one exactly is too large for any id or count, and that is all it has to be. */
const clampToSafeInteger = (number: number): number =>
  Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, number));
