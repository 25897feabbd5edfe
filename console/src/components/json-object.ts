import { parseJson } from '../../../src/lib/exact-json.ts';

/** A JSON object as a form shows it: indented, and empty without fields. */
export const objectText = (value: Record<string, unknown>): string =>
  Object.keys(value).length === 0 ? '' : JSON.stringify(value, null, 2);

/** The object that a text of a form describes. Call it only for a text without an `objectFault`. */
export const parseObject = (text: string): Record<string, unknown> =>
  text.trim() === '' ? {} : parseJson(text);

export const OBJECT_FAULT = 'Must be a JSON object, or empty.';

/** Why a text of a form describes no object; null if it does. */
export const objectFault = (text: string): string | null => (isObject(text) ? null : OBJECT_FAULT);

const isObject = (text: string): boolean => {
  try {
    const value: unknown = parseObject(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
};
