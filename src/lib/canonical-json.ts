import { isJsonObject } from './json-value.ts';
import { Problem } from './problems.ts';

/**
 * Serializes JSON with sorted keys: a client that repeats a request may send them in another order.
 * @throws Problem `malformed-body` if the value is nested too deeply to be serialized
 */
export const canonicalJson = (value: unknown): string => {
  try {
    return JSON.stringify(value ?? null, (_key, inner: unknown) =>
      isJsonObject(inner) ? sortKeys(inner) : inner,
    );
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new Problem('malformed-body', { detail: 'The body is nested too deeply.', cause });
  }
};

const sortKeys = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
