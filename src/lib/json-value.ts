import './bigint-json.ts';
import { MAX_DIGITS } from './exact-json.ts';
import { Problem } from './problems.ts';

const MAX_BYTES = 65_536;
/** Far below the limits of `JSON.stringify` (about 3,000) and PostgreSQL (about 12,000). */
const MAX_DEPTH = 500;
/** The maximum number of values in 64 KiB of JSON: each takes at least two characters. */
const MAX_NODES = MAX_BYTES / 2;
/** For data with bigints: see `freeForm`. */
const MAX_MARKED_NODES = 1_000;

/** PostgreSQL stores neither NUL nor half a surrogate pair. */
export const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Whether PostgreSQL can read all texts and keys of the value. A column of the type json stores others, but functions fail on them. */
export const isReadableJson = (value: unknown): boolean => {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, inner]) => isStorableText(key) && isReadableJson(inner));
};

/** A plain object. JSON would change others, such as `Date`, `Map` or `URL`. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || prototype === OPAQUE;
};

/** A prototype other than `null` and `Object.prototype`: serializers do not look into such objects. */
const OPAQUE: object = Object.create(Object.prototype);

const TOO_LARGE = 'Must not be larger than 64 KiB.';
const TOO_MANY_DIGITS = `Must not have integers of more than ${MAX_DIGITS} digits.`;
/** `JSON.stringify` writes smaller numbers without an exponent. */
const EXPONENT = 1e21;
const TOO_MANY_VALUES = `Must not have more than ${MAX_MARKED_NODES} values beside integers beyond ±${Number.MAX_SAFE_INTEGER}: send these as text.`;

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
  let hasBigints = false;
  const path: string[] = [];
  const findProblem = (value: unknown): string | null => {
    left -= 1;
    if (left < 0) return TOO_LARGE;
    if (typeof value === 'bigint') {
      hasBigints = true;
      return String(value).length > MAX_DIGITS ? TOO_MANY_DIGITS : null;
    }
    if (typeof value === 'number' && isRounded(value))
      return `${path.join('.')} is beyond ±${Number.MAX_SAFE_INTEGER}: send it as text.`;
    if (isJsonLeaf(value)) return null;
    if (path.length >= MAX_DEPTH) return `Must not be nested deeper than ${MAX_DEPTH} levels.`;
    if (!Array.isArray(value) && !isJsonObject(value)) return 'Must contain only JSON values.';
    for (const [key, child] of Object.entries(value)) {
      path.push(key);
      const reason = findProblem(child);
      if (reason !== null) return reason;
      path.pop();
    }
    return null;
  };
  const reason = findProblem(root);
  return reason === null && hasBigints && MAX_NODES - left > MAX_MARKED_NODES ? TOO_MANY_VALUES : reason;
};

/** Whether the number may have been another integer before it became a double: over REST, such integers are bigints. */
const isRounded = (value: number): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < EXPONENT;

const isJsonLeaf = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || value === null || Number.isFinite(value);

/**
 * Marks data as opaque to serializers. superjson records the path of every nested object, which takes seconds for long lists. It also
 * throws at a key such as `__proto__`, so that one malicious user could break every list that contains it.
 */
export const opaque = <T extends object>(data: T): T => Object.setPrototypeOf(data, OPAQUE);

/** Opaque data, or unmarked data if it contains bigints, which serializers must mark: in JSON they look like numbers. */
export const freeForm = <T extends object>(data: T): T => (hasBigint(data) ? data : opaque(data));

/** Keys at which superjson throws. Objects with one of them stay opaque. */
const REFUSED_KEYS = ['__proto__', 'constructor', 'prototype'];

const hasBigint = (root: object): boolean => {
  let isFound = false;
  const search = (value: unknown): boolean => {
    isFound ||= typeof value === 'bigint';
    if (typeof value !== 'object' || value === null) return true;
    return Object.entries(value).every(([key, child]) => !REFUSED_KEYS.includes(key) && search(child));
  };
  return search(root) && isFound;
};

export const isOpaque = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && Object.getPrototypeOf(data) === OPAQUE;

/**
 * Serializes JSON with sorted keys: a client that repeats a request may send its keys in another order.
 * @throws Problem `malformed-body` if the value is nested too deeply
 */
export const canonicalJson = (value: unknown): string => {
  try {
    return JSON.stringify(value ?? null, (_key, inner: unknown) =>
      isJsonObject(inner) && !JSON.isRawJSON(inner) ? sortKeys(inner) : inner,
    );
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new Problem('malformed-body', { detail: 'The body is nested too deeply.', cause });
  }
};

const sortKeys = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
