import superjson, { type SuperJSONResult } from 'superjson';
import { isJsonObject } from '../../src/lib/json-value.ts';
import { Problem } from '../../src/lib/problems.ts';

/** What inputs are made of, beyond JSON. superjson knows many more kinds, some of which take it minutes to build. */
const KINDS: readonly unknown[] = ['Date', 'undefined'];
/** Four values left out of each of 10,000 elements are 360,000; a million take about 100 ms. */
const MAX_STEPS = 1_000_000;
/** Deeper than anything that inputs are made of, free-form data included in earnest. */
const MAX_PATH_LENGTH = 64;

/**
 * superjson, but hard to abuse from outside: anybody may send it instructions before a procedure has looked at
 * who they are. References between parts of an input are dropped, since its JSON is complete without them.
 */
export const transformer = {
  input: {
    serialize: superjson.serialize,
    /** @throws Problem `malformed-body` */
    deserialize: (payload: unknown): unknown => {
      if (!isJsonObject(payload))
        throw new Problem('malformed-body', { detail: 'Must be a superjson value.' });
      const { json, meta } = payload as unknown as SuperJSONResult; // `json` may be anything; `meta` is checked next
      if (meta?.values === undefined) return json;
      refuseOtherKinds(meta.values);
      const values = { json, meta: { values: meta.values, ...(meta.v !== undefined && { v: meta.v }) } };
      return superjson.deserialize(values, { inPlace: true });
    },
  },
  output: superjson,
};

/**
 * superjson walks to each annotated value anew, by a path that grows with every level of the tree: what it costs is
 * the sum of the lengths of these paths.
 */
const refuseOtherKinds = (annotations: unknown): void => {
  const open: { node: unknown; pathLength: number }[] = [{ node: annotations, pathLength: 0 }];
  let steps = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, pathLength } = next;
    steps += pathLength + 1;
    if (steps > MAX_STEPS || pathLength > MAX_PATH_LENGTH)
      throw new Problem('body-too-large', { detail: 'There are too many or too deep annotations.' });
    if (typeof node !== 'object' || node === null) {
      if (KINDS.includes(node)) continue;
      throw new Problem('malformed-body', {
        detail: 'Of superjson, only Date and undefined are taken here.',
      });
    }
    for (const [key, child] of Object.entries(node)) {
      open.push({ node: child, pathLength: pathLength + key.split('.').length });
    }
  }
};
