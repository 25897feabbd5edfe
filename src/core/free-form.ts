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
export const reasonAgainst = (value: unknown): string | null => {
  if (!isJsonObject(value)) return NO_OBJECT;
  return reasonAgainstNodes(value) ?? (isTooLarge(JSON.stringify(value)) ? TOO_LARGE : null);
};

/** The JSON text of a value that can be kept as free-form data, else the reason why it cannot. */
export const freeFormText = (value: object): { text: string } | { reason: string } => {
  const reason = reasonAgainstNodes(value);
  if (reason !== null) return { reason };
  const text = JSON.stringify(value);
  return isTooLarge(text) ? { reason: TOO_LARGE } : { text };
};

/** In UTF-8 a UTF-16 unit takes up to three bytes: most texts need not be measured. */
const isTooLarge = (text: string): boolean =>
  text.length * 3 > MAX_BYTES && Buffer.byteLength(text) > MAX_BYTES;

/**
 * Level by level rather than by recursion, which is what a hostile depth would break; and each node once, since
 * a value that contains itself has no end.
 */
const reasonAgainstNodes = (root: object): string | null => {
  const seen = new Set<object>();
  let level: unknown[] = [root];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return `Must not be nested deeper than ${MAX_DEPTH} levels.`;
    const next: unknown[] = [];
    for (const value of level) {
      if (isJsonLeaf(value)) continue;
      if (!Array.isArray(value) && !isJsonObject(value)) return 'Must hold nothing but JSON values.';
      if (seen.has(value)) return 'Must not hold the same object in two places.';
      seen.add(value);
      for (const child of Object.values(value)) next.push(child);
      if (seen.size + next.length > MAX_NODES) return TOO_LARGE;
    }
    level = next;
  }
  return null;
};

const isJsonLeaf = (value: unknown): boolean =>
  value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value);

/**
 * Marks data as opaque to serializers; its keys and values stay what they are. superjson would note the path of
 * every object inside, which takes seconds for a list of large ones, and throws at a key such as `__proto__`, so
 * that one poisoned user would break every list they are in.
 */
export const shielded = <T extends object>(data: T): T => Object.setPrototypeOf(data, OPAQUE);
