import { Problem } from './problems.ts';

const MAX_BYTES = 65_536;
/** Far below the limits of `JSON.stringify` (about 3,000) and PostgreSQL (about 12,000). */
const MAX_DEPTH = 500;
/** The most values in 64 KiB of JSON: each takes at least two characters. */
const MAX_NODES = MAX_BYTES / 2;

/** PostgreSQL stores neither NUL nor half a surrogate pair. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** A plain object. JSON would change others, such as `Date`, `Map` or `URL`. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || prototype === OPAQUE;
};

/** A prototype other than `null` and `Object.prototype`: serializers do not look into such objects. */
const OPAQUE: object = Object.create(Object.prototype);

const TOO_LARGE = 'Must not be larger than 64 KiB.';

/** The reason why a value cannot be stored as free-form data, or null. */
export const findJsonProblem = (value: unknown): string | null => {
  if (!isJsonObject(value)) return 'Must be an object.';
  const json = stringifyJsonValue(value);
  return 'reason' in json ? json.reason : null;
};

/** Serializes free-form data, or returns the reason why it cannot be stored. */
export const stringifyJsonValue = (value: object): { text: string } | { reason: string } => {
  const reason = findNodeProblem(value);
  if (reason !== null) return { reason };
  const text = JSON.stringify(value);
  return Buffer.byteLength(text) > MAX_BYTES ? { reason: TOO_LARGE } : { text };
};

/**
 * Recursion is limited by depth. The count of nodes also stops at cycles, so visited nodes need not be tracked. A value
 * referenced twice counts twice, as it is serialized twice.
 */
const findNodeProblem = (root: object): string | null => {
  let left = MAX_NODES;
  const findProblem = (value: unknown, depth: number): string | null => {
    left -= 1;
    if (left < 0) return TOO_LARGE;
    if (isJsonLeaf(value)) return null;
    if (depth > MAX_DEPTH) return `Must not be nested deeper than ${MAX_DEPTH} levels.`;
    if (!Array.isArray(value) && !isJsonObject(value)) return 'Must contain only JSON values.';
    for (const child of Object.values(value)) {
      const reason = findProblem(child, depth + 1);
      if (reason !== null) return reason;
    }
    return null;
  };
  return findProblem(root, 1);
};

const isJsonLeaf = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || value === null || Number.isFinite(value);

/**
 * Marks data as opaque to serializers. superjson records the path of every nested object, which takes seconds for long
 * lists, and throws at a key such as `__proto__`, so that one malicious user would break every list that contains them.
 */
export const opaque = <T extends object>(data: T): T => Object.setPrototypeOf(data, OPAQUE);

export const isOpaque = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && Object.getPrototypeOf(data) === OPAQUE;

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
