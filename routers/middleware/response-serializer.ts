import { isOpaque, opaque } from '../../src/lib/json-value.ts';

/** Keys that no view has. An object with one of them represents a value that JSON lacks. */
const DATE = '\0date';
const FREE_FORM = '\0free-form';

/**
 * JSON of a procedure's response that preserves dates and opaque free-form data. Unlike superjson it does not record the path
 * of every date: a response may list ten thousand items.
 */
export const responseJson = {
  stringify: (response: unknown): string => JSON.stringify({ response }, tag),
  parse: (json: string): unknown => {
    const { response }: { response?: unknown } = JSON.parse(json);
    return untag(response);
  },
};

/** `value` of a date is already a string here; `this[key]` is still the date. */
function tag(this: Record<string, unknown>, key: string, value: unknown): unknown {
  if (typeof value === 'string') return this[key] instanceof Date ? { [DATE]: value } : value;
  // As a string, because its own keys may be any, including these.
  return isOpaque(value) ? { [FREE_FORM]: JSON.stringify(value) } : value;
}

/** In place: `JSON.parse` with a reviver keeps the source text of every value, which doubles the memory. */
const untag = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (DATE in value) return new Date(String(value[DATE]));
  if (FREE_FORM in value) return opaque(JSON.parse(String(value[FREE_FORM])));
  for (const [key, child] of Object.entries(value)) {
    const restored = untag(child);
    if (restored !== child) Object.assign(value, { [key]: restored });
  }
  return value;
};
