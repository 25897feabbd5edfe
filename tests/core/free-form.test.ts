import fc from 'fast-check';
import superjson from 'superjson';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { reasonAgainst, shielded } from '../../src/core/free-form.ts';

const freeForm = suite('free-form data');

const anyObject = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'prototype')),
  fc.jsonValue(),
);

freeForm('takes every JSON object of reasonable size, and no other value', () => {
  fc.assert(
    fc.property(anyObject, (data) => {
      const sent = JSON.parse(JSON.stringify(data));
      assert.is(reasonAgainst(sent), null);
    }),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      assert.is(reasonAgainst(value) === null, isObject);
    }),
  );
});

freeForm('passes through superjson whole, whatever its keys', () => {
  fc.assert(
    fc.property(anyObject, (data) => {
      const text = JSON.stringify(data);
      const sent = superjson.serialize({ extra: shielded(JSON.parse(text)) });
      assert.is(JSON.stringify(sent.json), `{"extra":${text}}`);
    }),
  );
});

freeForm('is bounded in bytes and depth, without recursion', () => {
  const nested = (depth: number) => JSON.parse(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);

  assert.is(reasonAgainst({ a: 'é'.repeat(32_000) }), null);
  assert.match(reasonAgainst({ a: 'é'.repeat(33_000) }) ?? '', /64 KiB/);
  assert.is(reasonAgainst(nested(499)), null);
  assert.match(reasonAgainst(nested(500)) ?? '', /nested/);
  assert.match(reasonAgainst(nested(200_000)) ?? '', /nested/);
});

freeForm.run();
