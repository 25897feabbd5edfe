import { isJsonObject } from './json-value.ts';
import { Problem } from './problems.ts';

/**
 * JSON that is the same whatever the order of the keys, which whoever sends a request again need not keep.
 * @throws Problem `malformed-body` when it is nested too deeply to be written
 */
export const canonicalJson = (value: unknown): string => {
  try {
    return JSON.stringify(value ?? null, (_key, inner: unknown) =>
      isJsonObject(inner) ? sorted(inner) : inner,
    );
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new Problem('malformed-body', { detail: 'The body is nested too deeply.', cause });
  }
};

const sorted = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
