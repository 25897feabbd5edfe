import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { responseJson } from '../../routers/middleware/mutation-guards.ts';
import { isOpaque, opaque } from '../../src/lib/json-value.ts';

const answers = suite('responseJson');

const again = (answer: unknown): unknown => responseJson.parse(responseJson.stringify(answer));
const date = fc.date({ noInvalidDate: true });
const leaf = fc.oneof(date, fc.string({ unit: 'binary' }), fc.integer(), fc.boolean(), fc.constant(null));
const view = fc.dictionary(fc.constantFrom('email', 'at', 'items', 'id'), fc.oneof(leaf, fc.array(leaf)), {
  noNullPrototype: true,
});

answers('restores dates as dates, and everything else unchanged', () => {
  fc.assert(
    fc.property(fc.oneof(leaf, view, fc.array(view)), (answer) => {
      assert.equal(again(answer), answer);
    }),
    { seed: 1 },
  );
  assert.is(again(undefined), undefined);
});

answers('restores free-form data with any keys, opaque to serializers', () => {
  const keys = fc.constantFrom('\0date', '\0free-form', '__proto__', 'constructor', 'x');
  const data = fc.dictionary(keys, fc.jsonValue()).map((given) => JSON.stringify(given));
  fc.assert(
    fc.property(data, (text) => {
      const answer = { extra: opaque(JSON.parse(text)), at: new Date(0) };
      const { extra, at } = again(answer) as typeof answer; // its own kind, see above

      assert.is(JSON.stringify(extra), JSON.stringify(JSON.parse(text)));
      assert.ok(isOpaque(extra) && at instanceof Date);
    }),
    { seed: 1 },
  );
});

answers('may have a key `json`', () => {
  assert.equal(again({ json: 1, meta: {} }), { json: 1, meta: {} });
});

answers.run();
