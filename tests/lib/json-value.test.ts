import fc from 'fast-check';
import superjson from 'superjson';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseJson } from '../../src/lib/exact-json.ts';
import { findJsonProblem, freeForm, opaque, stringifyJsonValue } from '../../src/lib/json-value.ts';

const data = suite('free-form data');

const anyObject = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'prototype')),
  fc.jsonValue(),
);

data('accepts every JSON object of limited size, and no other value', () => {
  fc.assert(
    fc.property(anyObject, (object) => {
      const sent = parseJson(JSON.stringify(object));
      assert.is(findJsonProblem(sent), null);
    }),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (json) => {
      const value = parseJson(JSON.stringify(json));
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      assert.is(findJsonProblem(value) === null, isObject);
    }),
  );
});

data('passes through superjson unchanged with any keys', () => {
  fc.assert(
    fc.property(anyObject, (object) => {
      const text = JSON.stringify(object);
      const sent = superjson.serialize({ extra: opaque(JSON.parse(text)) });
      assert.is(JSON.stringify(sent.json), `{"extra":${text}}`);
    }),
  );
});

data('is limited in bytes and depth, without recursion', () => {
  const nested = (depth: number) => JSON.parse(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);

  assert.is(findJsonProblem({ a: 'é'.repeat(32_000) }), null);
  assert.match(findJsonProblem({ a: 'é'.repeat(33_000) }) ?? '', /64 KiB/);
  assert.is(findJsonProblem(nested(499)), null);
  assert.match(findJsonProblem(nested(500)) ?? '', /nested/);
  assert.match(findJsonProblem(nested(200_000)) ?? '', /nested/);
});

data('contains only JSON values', () => {
  for (const value of [undefined, new Date(), NaN, () => 1, new Map(), Symbol('x')]) {
    assert.match(findJsonProblem({ a: [value] }) ?? '', /JSON/);
  }
});

data('has large integers only as bigints: as numbers they may have lost digits', () => {
  assert.is(findJsonProblem({ a: [2n ** 63n, -(2n ** 63n), 6.02e23] }), null);
  assert.match(findJsonProblem({ a: { b: [0, 2 ** 53] } }) ?? '', 'a.b.1 is beyond ±9007199254740991');
  for (const stored of [10n ** 999n, -(10n ** 998n)])
    assert.equal(
      parseJson(Reflect.get(stringifyJsonValue({ stored }), 'text')),
      { stored },
      'can be read again',
    );
  for (const refused of [10n ** 1_000n, -(10n ** 999n)])
    assert.match(findJsonProblem({ refused }) ?? '', 'more than 1000 digits');
});

data('has at most 1,000 values beside bigints, which superjson walks through', () => {
  const list = Array.from({ length: 998 }, () => 0);
  assert.is(
    findJsonProblem({ list: [...list, 2n ** 63n] }),
    'Must not have more than 1000 values beside integers beyond ±9007199254740991: send these as text.',
  );
  assert.is(findJsonProblem({ list: [...list.slice(1), 2n ** 63n] }), null);
});

data('is opaque to superjson unless it has bigints, which it marks', () => {
  const serialize = (extra: object) => superjson.serialize({ extra: freeForm(extra) });

  assert.equal(serialize({ day: { id: 7 } }).meta, undefined);
  assert.equal(superjson.deserialize(serialize({ ids: [2n ** 63n] })), { extra: { ids: [2n ** 63n] } });
  assert.equal(serialize(JSON.parse('{"__proto__":{},"a":1}')).meta, undefined);
});

data.run();
