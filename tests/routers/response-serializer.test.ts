import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { answerText } from '../../routers/middleware/response-serializer.ts';
import { isOpaque, opaque } from '../../src/lib/json-value.ts';

const answers = suite('answerText');

const again = (answer: unknown): unknown => answerText.read(answerText.write(answer));
const date = fc.date({ noInvalidDate: true });
const leaf = fc.oneof(date, fc.string({ unit: 'binary' }), fc.integer(), fc.boolean(), fc.constant(null));
const view = fc.dictionary(fc.constantFrom('email', 'at', 'items', 'id'), fc.oneof(leaf, fc.array(leaf)), {
  noNullPrototype: true,
});

answers('give back dates as dates, and all else as it was', () => {
  fc.assert(
    fc.property(fc.oneof(leaf, view, fc.array(view)), (answer) => {
      assert.equal(again(answer), answer);
    }),
  );
  assert.is(again(undefined), undefined);
});

answers('give back free-form data with any keys, opaque to serializers', () => {
  const keys = fc.constantFrom('\0date', '\0free-form', '__proto__', 'constructor', 'x');
  const data = fc.dictionary(keys, fc.jsonValue()).map((given) => JSON.stringify(given));
  fc.assert(
    fc.property(data, (text) => {
      const answer = { extra: opaque(JSON.parse(text)), at: new Date(0) };
      const { extra, at } = again(answer) as typeof answer; // its own kind, see above

      assert.is(JSON.stringify(extra), JSON.stringify(JSON.parse(text)));
      assert.ok(isOpaque(extra) && at instanceof Date);
    }),
  );
});

answers('are read in the form in which they were kept before, too', () => {
  const kept = `{"json":{"id":7,"at":"2026-11-20T10:00:00.000Z","extra":"{\\"__proto__\\":[1]}","json":null},
    "meta":{"values":{"at":["Date"],"extra":[["custom","free-form"]]},"v":1}}`;
  const { extra, ...rest } = answerText.read(kept) as { extra: object }; // as the text says

  assert.equal(rest, { id: 7, at: new Date('2026-11-20T10:00:00.000Z'), json: null });
  assert.is(JSON.stringify(extra), '{"__proto__":[1]}');
  assert.ok(isOpaque(extra));
  assert.is(answerText.read('{"json":null,"meta":{"values":["undefined"],"v":1}}'), undefined);
});

answers('that have a key `json` are not taken for those', () => {
  assert.equal(again({ json: 1, meta: {} }), { json: 1, meta: {} });
});

answers.run();
