import argon2 from 'argon2';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPasswordHasher } from '../../src/adapters/hashing/password-hasher.ts';
import { rejectsWith } from '../support/rejects.ts';
import { CHEAP_HASH } from '../support/test-server.ts';

const hasher = suite('password hasher');

hasher('makes argon2id hashes with 19 MiB and two passes, and verifies them', async () => {
  const { hash, verify, isOutdated } = await createPasswordHasher(2);
  const made = await hash('a password');

  assert.match(made, /^\$argon2id\$v=19\$m=19456,p=1,t=2\$/);
  assert.is(await verify(made, 'a password'), true);
  assert.is(await verify(made, 'another'), false);
  assert.is(isOutdated(made), false);
});

hasher(
  'verifies a password however a keyboard composes it, and an imported one as it was typed',
  async () => {
    const [composed, decomposed] = ['Gr\u00e4fin Ada', 'Gra\u0308fin\u00a0Ada'];
    const { hash, verify } = await createPasswordHasher(2, CHEAP_HASH);
    const imported = await argon2.hash(decomposed);

    for (const made of [await hash(composed), await hash(decomposed)])
      for (const typed of [composed, decomposed]) assert.is(await verify(made, typed), true);
    assert.is(await verify(imported, decomposed), true);
  },
);

hasher('treats its hashes with other costs or another variant as outdated', async () => {
  const { verify, isOutdated } = await createPasswordHasher(2);
  const costs = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

  for (const other of [
    { ...costs, memoryCost: 8192 },
    { ...costs, timeCost: 3 },
    { ...costs, parallelism: 2 },
    { ...costs, type: argon2.argon2i },
  ] as const) {
    const made = await argon2.hash('a password', other);
    assert.is(await verify(made, 'a password'), true);
    assert.is(isOutdated(made), true);
  }
});

hasher('verifies no password against a missing hash or one of another kind', async () => {
  const { verify } = await createPasswordHasher(2);

  for (const hash of [null, '', 'plain', 'pbkdf2_sha256$1$salt$hash', '$argon2id$v=19$broken']) {
    assert.is(await verify(hash, 'no password has this hash'), false);
  }
});

hasher('refuses work when its queue is full', async () => {
  const { hash } = await createPasswordHasher(1);
  const asked = Array.from({ length: 80 }, () => hash('x'));

  const last = asked.at(-1);
  assert.ok(last);
  await rejectsWith(last, 'overloaded');
  const outcomes = await Promise.allSettled(asked);
  const fulfilled = outcomes.filter(({ status }) => status === 'fulfilled').length;
  assert.ok(fulfilled >= 64, `${fulfilled} of 80`);
  assert.ok(await hash('room again'));
});

hasher('limits its queue by work, not by the number of callers', async () => {
  const { verify, hash } = await createPasswordHasher(1);
  // About 3 s of work, almost the limit of the queue.
  const dear = `pbkdf2_sha256$10000000$salt$${'A'.repeat(43)}=`;

  const admitted = [verify(dear, 'x'), hash('x'), hash('x')];
  await rejectsWith(hash('x'), 'overloaded');

  assert.is((await Promise.all(admitted)).length, 3);
  assert.ok(await hash('x'));
});

hasher.run();
