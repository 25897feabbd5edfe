import { z } from 'zod';
import { parseJson } from '../../lib/exact-json.ts';
import { Problem } from '../../lib/problems.ts';
import { isCalendarDate, readInstant } from '../../lib/typed-text.ts';
import { unwrapSchema } from './endpoints.ts';

/** The fields of an object, by name. */
export type Fields = Readonly<Record<string, z.core.$ZodType | undefined>>;

/** Converts parameters of the URL to the types of the schema. */
export const parseTexts = (fields: Fields, keys: readonly string[], texts: Record<string, unknown>) =>
  Object.fromEntries(
    keys.map((key) => {
      const schema = fields[key];
      return [key, schema ? parseText(unwrapSchema(schema)._zod.def.type, texts[key]) : texts[key]];
    }),
  );

/** Python writes `True`, also as a JSON string. Other values of a JSON body are never converted. */
export const withBooleans = <Body>(fields: Fields, body: Body): Body => {
  if (typeof body !== 'object' || body === null) return body;
  const converted = Object.entries(body).flatMap(([key, value]) => {
    const schema = Object.hasOwn(fields, key) ? fields[key] : undefined;
    const isBoolean = schema !== undefined && unwrapSchema(schema)._zod.def.type === 'boolean';
    return isBoolean && typeof value === 'string' ? [[key, parseBoolean(value)]] : [];
  });
  return converted.length === 0 ? body : { ...body, ...Object.fromEntries(converted) };
};

const FORM_TYPE = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i;

export const isForm = (mediaType: string): boolean => FORM_TYPE.test(mediaType);

/** The texts of a form by their names, which may be repeated. */
type Form = ReadonlyMap<string, readonly string[]>;

/** As in Django. The platform's parser takes seconds for a million. */
const MAX_FORM_FIELDS = 1_000;
/**
 * Parses both kinds of forms with the platform's parser. Ignores files: no endpoint accepts any.
 * @throws Problem `malformed-body`
 */
export const readForm = async (bytes: Buffer, mediaType: string): Promise<Form> => {
  const isMultipart = mediaType.startsWith('multipart');
  const parts = bytes.toString('latin1').split(isMultipart ? '\r\n--' : '&', MAX_FORM_FIELDS + 2);
  if (parts.length - (isMultipart ? 1 : 0) > MAX_FORM_FIELDS)
    throw new Problem('malformed-body', {
      detail: `A form must not have more than ${MAX_FORM_FIELDS} fields.`,
    });
  try {
    const form = await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': mediaType },
    }).formData();
    const texts = new Map<string, string[]>();
    for (const [name, value] of form) {
      if (typeof value !== 'string') continue;
      const repeated = texts.get(name);
      if (repeated) repeated.push(value);
      else texts.set(name, [value]);
    }
    return texts;
  } catch (cause) {
    throw new Problem('malformed-body', { detail: 'The body is not a valid form.', cause });
  }
};

/** Converts the values of a form: a repeated name is an array, objects are JSON, and an empty text may mean null. */
export const parseForm = (fields: Fields, form: Form): Record<string, unknown> =>
  Object.fromEntries(
    Array.from(form, ([key, texts]) => {
      const schema = Object.hasOwn(fields, key) ? fields[key] : undefined;
      return [key, schema ? parseField(schema, texts) : texts.at(-1)];
    }),
  );

const parseField = (schema: z.core.$ZodType, texts: readonly string[]): unknown => {
  const { type, element }: { type: string; element?: z.core.$ZodType } = unwrapSchema(schema)._zod.def;
  const [first = ''] = texts;
  const last = texts.at(-1) ?? '';
  if (type !== 'array' || element === undefined) return parseFormText(schema, type, last);
  if (texts.length > 1) return texts.map((text) => parseField(element, [text]));
  if (first === '') return [];
  return first.startsWith('[') ? parseJsonText(first) : [parseField(element, [first])];
};

const parseFormText = (schema: z.core.$ZodType, type: string, text: string): unknown => {
  if (text === '' && z.safeParse(schema, null).success) return null;
  return /^[{[]/.test(text) && type !== 'string' ? parseJsonText(text) : parseText(type, text);
};

const parseJsonText = (text: string): unknown => {
  try {
    return parseJson(text);
  } catch (error) {
    // Left as text: the schema, which requires an object, rejects it.
    if (error instanceof SyntaxError || error instanceof RangeError) return text;
    throw error;
  }
};

const parseBoolean = (text: string): string | boolean =>
  /^(true|false)$/i.test(text) ? text.toLowerCase() === 'true' : text;

/** Text that cannot be converted is kept: the schema rejects it with a proper message. */
const parseText = (type: string, text: unknown): unknown => {
  if (typeof text !== 'string') return text;
  if (type === 'number' && /^-?\d+$/.test(text)) return clampToSafeInteger(Number(text));
  if (type === 'boolean') return parseBoolean(text);
  if (type === 'date') return isCalendarDate(text) ? new Date(text) : (readInstant(text) ?? text);
  return text;
};

/** Numbers beyond the safe integers are out of range for every id and count, so the exact value does not matter. */
const clampToSafeInteger = (number: number): number =>
  Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, number));
