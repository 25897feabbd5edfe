import superjson, { type SuperJSONResult } from 'superjson';
import { isJsonObject } from '../src/core/free-form.ts';
import { Problem } from '../src/core/problems.ts';

/** What inputs are made of, beyond JSON. superjson knows many more kinds, some of which take it minutes to build. */
const KINDS: readonly unknown[] = ['Date', 'undefined'];
const MAX_ANNOTATIONS = 50_000;

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

const refuseOtherKinds = (annotations: unknown): void => {
  const open: unknown[] = [annotations];
  for (let seen = 0; open.length > 0; seen += 1) {
    const node = open.pop();
    if (typeof node === 'object' && node !== null) {
      for (const child of Object.values(node)) open.push(child);
    } else if (!KINDS.includes(node)) {
      throw new Problem('malformed-body', {
        detail: 'Of superjson, only Date and undefined are taken here.',
      });
    }
    if (seen > MAX_ANNOTATIONS) throw new Problem('body-too-large');
  }
};
