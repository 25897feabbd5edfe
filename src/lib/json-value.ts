const MAX_BYTES = 65_536;
/** Far below what `JSON.stringify` (about 3,000) and PostgreSQL (about 12,000) can follow. */
const MAX_DEPTH = 500;
/** 64 KiB of JSON cannot hold more: each value takes at least two characters. */
const MAX_NODES = MAX_BYTES / 2;

/** An object as JSON has it. A `Date`, a `Map` or a `URL` is an object too, and would turn into something else. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || prototype === OPAQUE;
};

/** Neither `null` nor `Object.prototype`: serializers that look into plain objects only pass such an object through. */
const OPAQUE: object = Object.create(Object.prototype);

const NO_OBJECT = 'Must be an object.';
const TOO_LARGE = 'Must not be larger than 64 KiB.';

/** Why a value cannot be kept as free-form data, or null when it can. */
export const findJsonProblem = (value: unknown): string | null => {
  if (!isJsonObject(value)) return NO_OBJECT;
  return reasonAgainstNodes(value) ?? (isTooLarge(JSON.stringify(value)) ? TOO_LARGE : null);
};

/** The JSON text of a value that can be kept as free-form data, else the reason why it cannot. */
export const stringifyJsonValue = (value: object): { text: string } | { reason: string } => {
  const reason = reasonAgainstNodes(value);
  if (reason !== null) return { reason };
  const text = JSON.stringify(value);
  return isTooLarge(text) ? { reason: TOO_LARGE } : { text };
};

/** In UTF-8 a UTF-16 unit takes up to three bytes: most texts need not be measured. */
const isTooLarge = (text: string): boolean =>
  text.length * 3 > MAX_BYTES && Buffer.byteLength(text) > MAX_BYTES;

/**
 * By recursion, no deeper than is allowed; and by a count that ends whatever contains itself, so that no node has to
 * be remembered. What stands in two places is written twice, as its sender would have written it.
 */
const reasonAgainstNodes = (root: object): string | null => {
  let left = MAX_NODES;
  const reasonAgainstNode = (value: unknown, depth: number): string | null => {
    left -= 1;
    if (left < 0) return TOO_LARGE;
    if (isJsonLeaf(value)) return null;
    if (depth > MAX_DEPTH) return `Must not be nested deeper than ${MAX_DEPTH} levels.`;
    if (Array.isArray(value)) {
      for (const child of value) {
        const reason = reasonAgainstNode(child, depth + 1);
        if (reason !== null) return reason;
      }
      return null;
    }
    if (!isJsonObject(value)) return 'Must hold nothing but JSON values.';
    for (const key in value) {
      const reason = reasonAgainstNode(value[key], depth + 1);
      if (reason !== null) return reason;
    }
    return null;
  };
  return reasonAgainstNode(root, 1);
};

const isJsonLeaf = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || value === null || Number.isFinite(value);

/**
 * Marks data as opaque to serializers; its keys and values stay what they are. superjson would note the path of
 * every object inside, which takes seconds for a list of large ones, and throws at a key such as `__proto__`, so
 * that one poisoned user would break every list they are in.
 */
export const opaque = <T extends object>(data: T): T => Object.setPrototypeOf(data, OPAQUE);

export const isOpaque = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && Object.getPrototypeOf(data) === OPAQUE;
