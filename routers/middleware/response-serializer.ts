import { isOpaque, opaque } from '../../src/lib/json-value.ts';

/** Keys that no view has: an object with one of them stands for what JSON has no word for. */
const DATE = '\0date';
const FREE_FORM = '\0free-form';

/**
 * The answer of a procedure as text, and back: dates are dates again, and free-form data is opaque to serializers. In one
 * pass, for an answer may be a list of ten thousand: superjson would note the path of every date.
 */
export const answerText = {
  write: (answer: unknown): string => JSON.stringify({ answer }, tagged),
  read: (text: string): unknown => {
    const { answer }: { answer?: unknown } = JSON.parse(text);
    return untagged(answer);
  },
};

/** Dates have become texts by the time they are seen, but not where they stand. */
function tagged(this: Record<string, unknown>, key: string, value: unknown): unknown {
  if (typeof value === 'string') return this[key] instanceof Date ? { [DATE]: value } : value;
  // As text: its own keys, which may be any, are not to be taken for these.
  return isOpaque(value) ? { [FREE_FORM]: JSON.stringify(value) } : value;
}

/** In place: `JSON.parse` with a reviver notes the text of every value first, which is as much again as the answer. */
const untagged = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (DATE in value) return new Date(String(value[DATE]));
  if (FREE_FORM in value) return opaque(JSON.parse(String(value[FREE_FORM])));
  for (const [key, part] of Object.entries(value)) {
    const whole = untagged(part);
    if (whole !== part) Object.assign(value, { [key]: whole });
  }
  return value;
};
