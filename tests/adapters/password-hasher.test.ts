import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPasswordHasher } from '../../src/adapters/password-hasher.ts';
import { rejectsWith } from '../support/rejects-with.ts';

const hasher = suite('password hasher');

hasher('makes argon2id hashes of 19 MiB and two passes, which verify', async () => {
  const { hash, verify, isOutdated } = await createPasswordHasher(2);
  const made = await hash('a password');

  assert.match(made, /^\$argon2id\$v=19\$m=19456,p=1,t=2\$/);
  assert.is(await verify(made, 'a password'), true);
  assert.is(await verify(made, 'another'), false);
  assert.is(isOutdated(made), false);
});

hasher('verifies nothing against no hash, or one of another kind', async () => {
  const { verify } = await createPasswordHasher(2);

  for (const hash of [null, '', 'plain', 'pbkdf2_sha256$1$salt$hash', '$argon2id$v=19$broken']) {
    assert.is(await verify(hash, 'no password has this hash'), false);
  }
});

hasher('refuses more than its queue holds instead of letting everybody wait', async () => {
  const { hash } = await createPasswordHasher(1);
  const asked = Array.from({ length: 80 }, () => hash('x'));

  const last = asked.at(-1);
  assert.ok(last);
  await rejectsWith(last, 'overloaded');
  const outcomes = await Promise.allSettled(asked);
  assert.ok(outcomes.filter(({ status }) => status === 'fulfilled').length >= 64);
});

hasher.run();
