import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPasswordHasher } from '../../src/adapters/hashing/password-hasher.ts';
import recorded from '../fixtures/django/hashes.json' with { type: 'json' };
import { djangoPython, runDjango } from '../fixtures/django/run-django.ts';
import { CHEAP_HASH } from '../support/test-server.ts';

const SOME_TEXT = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 200 })
  .filter((text) => text.isWellFormed());

const hashes = suite('hashes of the Django installed');

hashes('verify their passwords', async () => {
  if (djangoPython === undefined) return assert.unreachable('no Django is installed');
  const passwords = new Set([...recorded.map(({ password }) => password), ...fc.sample(SOME_TEXT, 40)]);
  const { verify } = await createPasswordHasher(2, CHEAP_HASH);

  for (const { kind, password, hash } of runDjango(djangoPython, 'make_hashes.py', [...passwords])) {
    const what = `${kind} of ${JSON.stringify(password)}`;
    assert.is(await verify(hash, password), true, what);
    assert.is(await verify(hash, `${password}.`), false, `another than ${what}`);
  }
});

hashes.run();
