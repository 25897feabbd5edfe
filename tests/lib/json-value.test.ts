import fc from 'fast-check';
import superjson from 'superjson';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findJsonProblem, opaque, stringifyJsonValue } from '../../src/lib/json-value.ts';

const freeForm = suite('free-form data');

const anyObject = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'prototype')),
  fc.jsonValue(),
);

freeForm('accepts every JSON object of limited size, and no other value', () => {
  fc.assert(
    fc.property(anyObject, (data) => {
      const sent = JSON.parse(JSON.stringify(data));
      assert.is(findJsonProblem(sent), null);
    }),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      assert.is(findJsonProblem(value) === null, isObject);
    }),
  );
});

freeForm('passes through superjson unchanged with any keys', () => {
  fc.assert(
    fc.property(anyObject, (data) => {
      const text = JSON.stringify(data);
      const sent = superjson.serialize({ extra: opaque(JSON.parse(text)) });
      assert.is(JSON.stringify(sent.json), `{"extra":${text}}`);
    }),
  );
});

freeForm('is limited in bytes and depth, without recursion', () => {
  const nested = (depth: number) => JSON.parse(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);

  assert.is(findJsonProblem({ a: 'é'.repeat(32_000) }), null);
  assert.match(findJsonProblem({ a: 'é'.repeat(33_000) }) ?? '', /64 KiB/);
  assert.is(findJsonProblem(nested(499)), null);
  assert.match(findJsonProblem(nested(500)) ?? '', /nested/);
  assert.match(findJsonProblem(nested(200_000)) ?? '', /nested/);
});

freeForm('is limited in values, even if it is cyclic', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const wide = Array.from({ length: 500 }, () => cyclic);
  cyclic.wide = wide;
  const full = (values: number) => JSON.parse(`{"a":[${Array.from({ length: values }, () => 1).join(',')}]}`);

  assert.match(findJsonProblem(cyclic) ?? '', /nested|64 KiB/);
  assert.match(findJsonProblem({ wide }) ?? '', /nested|64 KiB/);
  assert.is(findJsonProblem(full(32_764)), null, 'the most that fit into 64 KiB');
  assert.match(findJsonProblem(full(32_765)) ?? '', /64 KiB/);
});

freeForm('may contain the same object twice', () => {
  const shared = { x: 1 };
  assert.equal(stringifyJsonValue({ a: shared, b: [shared] }), { text: '{"a":{"x":1},"b":[{"x":1}]}' });
});

freeForm('contains only JSON values', () => {
  for (const value of [undefined, new Date(), 1n, NaN, () => 1, new Map(), Symbol('x')]) {
    assert.match(findJsonProblem({ a: [value] }) ?? '', /JSON/);
  }
});

freeForm.run();
