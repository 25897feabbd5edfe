import superjson, { type SuperJSONResult } from 'superjson';
import { MAX_DIGITS } from '../../src/lib/exact-json.ts';
import { isJsonObject } from '../../src/lib/json-value.ts';
import { Problem } from '../../src/lib/problems.ts';

/** The types that inputs need in addition to JSON. superjson supports more; some take minutes to decode. */
const TYPES: readonly unknown[] = ['Date', 'undefined', 'bigint'];
/** A bigint of a million digits takes seconds to read or, in hexadecimal, to write. */
const TOO_MANY_DIGITS = new RegExp(`\\d{${MAX_DIGITS + 1}}|0[box][\\da-f]{${MAX_DIGITS}}`, 'i');
/** Four undefined values in each of 10,000 elements take 360,000 steps; a million steps take about 100 ms. */
const MAX_STEPS = 1_000_000;
/** Longer than the path of any legitimate input, including free-form data. */
const MAX_PATH_LENGTH = 64;

/**
 * superjson, hardened against hostile input: anonymous callers reach it before a procedure authenticates them. References between parts of
 * an input are dropped; the JSON is complete without them.
 */
export const transformer = {
  input: {
    serialize: superjson.serialize,
    /** @throws Problem `malformed-body` */
    deserialize: (payload: unknown): unknown => {
      if (!isJsonObject(payload))
        throw new Problem('malformed-body', { detail: 'The request body must be a superjson value.' });
      const { json, meta } = payload;
      if (!isJsonObject(meta) || meta.values === undefined) return json;
      const { values, v } = meta;
      const hasBigints = checkTypes(values).has('bigint');
      if (hasBigints && TOO_MANY_DIGITS.test(JSON.stringify(json)))
        throw new Problem('malformed-body', { detail: `A bigint has more than ${MAX_DIGITS} digits.` });
      const checked = { json, meta: { values, ...(v !== undefined && { v }) } };
      return superjson.deserialize(checked as SuperJSONResult, { inPlace: true }); // `values` was checked above
    },
  },
  output: superjson,
};

/**
 * superjson walks from the root to each annotated value, so its cost is the sum of the lengths of all paths.
 * @returns the types that occur
 * @throws Problem for other types, or too many values
 */
const checkTypes = (annotations: unknown): Set<unknown> => {
  const types = new Set<unknown>();
  const stack: { node: unknown; pathLength: number }[] = [{ node: annotations, pathLength: 0 }];
  let steps = 0;
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { node, pathLength } = next;
    steps += pathLength + 1;
    if (steps > MAX_STEPS || pathLength > MAX_PATH_LENGTH)
      throw new Problem('body-too-large', {
        detail: 'There are too many annotations, or they are nested too deeply.',
      });
    if (typeof node !== 'object' || node === null) {
      types.add(node);
      if (TYPES.includes(node)) continue;
      throw new Problem('malformed-body', {
        detail: 'Only the superjson types Date, undefined and bigint are supported.',
      });
    }
    for (const [key, child] of Object.entries(node)) {
      stack.push({ node: child, pathLength: pathLength + key.split('.').length });
    }
  }
  return types;
};
