import { parseJson } from '../../../src/lib/exact-json.ts';

/** The text of a JSON object in a form: indented; empty without fields. */
export const objectText = (value: Record<string, unknown>): string =>
  Object.keys(value).length === 0 ? '' : JSON.stringify(value, null, 2);

/** The object in the text of a form. Call it only for a text without an `objectFault`. */
export const parseObject = (text: string): Record<string, unknown> =>
  text.trim() === '' ? {} : parseJson(text);

export const OBJECT_FAULT = 'Must be a JSON object, or empty.';

/** Why the text of a form is not a JSON object; null if it is. */
export const objectFault = (text: string): string | null => (isObject(text) ? null : OBJECT_FAULT);

const isObject = (text: string): boolean => {
  try {
    const value: unknown = parseObject(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
};
