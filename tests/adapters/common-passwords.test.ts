import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCommonPasswords } from '../../src/adapters/hashing/common-passwords.ts';

const commonPasswords = suite('common passwords');

commonPasswords('are at least 20,000, in lower case', async () => {
  const words = [...(await loadCommonPasswords())];

  assert.ok(words.length >= 20_000);
  assert.equal(
    words.filter((word) => word !== word.toLowerCase()),
    [],
  );
});

commonPasswords.run();
