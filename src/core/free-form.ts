const MAX_BYTES = 65_536;
/** Far below what `JSON.stringify` (about 3,000) and PostgreSQL (about 12,000) can follow. */
const MAX_DEPTH = 500;

export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Why a value cannot be kept as free-form data, or null when it can. */
export const reasonAgainst = (value: unknown): string | null => {
  if (!isJsonObject(value)) return 'Must be an object.';
  if (depthOf(value) > MAX_DEPTH) return `Must not be nested deeper than ${MAX_DEPTH} levels.`;
  return Buffer.byteLength(JSON.stringify(value)) > MAX_BYTES ? 'Must not be larger than 64 KiB.' : null;
};

/** Level by level rather than by recursion, which is what a hostile depth would break. */
const depthOf = (root: object): number => {
  let level: object[] = [root];
  let depth = 0;
  while (level.length > 0 && depth <= MAX_DEPTH) {
    depth += 1;
    level = level.flatMap((node) => Object.values(node).filter(isNode));
  }
  return depth;
};

const isNode = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The keys at which superjson throws, so that one poisoned user would break every list they are in. */
const REFUSED_KEYS = /"(__proto__|constructor|prototype)":/;

/** Neither `null` nor `Object.prototype`: serializers that look into plain objects only pass such an object through. */
const OPAQUE: object = Object.create(Object.prototype);

/** Gives data with such a key a prototype that marks it as opaque; its keys and values stay what they are. */
export const shielded = (data: Record<string, unknown>): Record<string, unknown> =>
  REFUSED_KEYS.test(JSON.stringify(data)) ? Object.setPrototypeOf(data, OPAQUE) : data;
