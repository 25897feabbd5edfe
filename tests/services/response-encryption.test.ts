import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createResponseEncryption } from '../../src/services/idempotency/response-encryption.ts';

const encryption = suite('response encryption');

const seal = createResponseEncryption('a secret key that only tests ever use');
const other = createResponseEncryption('another secret key');
const ANSWER = '{"token":"…0123456789abcdef"}';
const refuses = async (opening: Promise<string>, which?: string): Promise<void> => {
  const [outcome] = await Promise.allSettled([opening]);
  assert.is(outcome.status, 'rejected', which);
};

encryption('opens in the same context', async () => {
  assert.is(await seal.open(await seal.seal(ANSWER, '1 key'), '1 key'), ANSWER);
  assert.is(await seal.open(await seal.seal('', '1 key'), '1 key'), '');
});

encryption('compresses bulk responses, and leaves short ones uncompressed', async () => {
  const bulk = JSON.stringify(Array.from({ length: 1000 }, (_, id) => ({ id, name: `Zoë ${id}` })));
  const sealed = await seal.seal(bulk, '1 key');

  assert.is(await seal.open(sealed, '1 key'), bulk);
  assert.ok(sealed.length * 4 < bulk.length, `${sealed.length} of ${bulk.length} bytes`);
  const repetitive = JSON.stringify('x'.repeat(1000));
  assert.is(await seal.open(await seal.seal(repetitive, '1 key'), '1 key'), repetitive);
  assert.ok(
    (await seal.seal(repetitive, '1 key')).length > repetitive.length,
    'its length does not reveal its content',
  );
});

encryption('does not open for another user, key or service', async () => {
  const sealed = await seal.seal(ANSWER, '1 key');
  await refuses(seal.open(sealed, '2 key'));
  await refuses(seal.open(sealed, '1 yek'));
  await refuses(other.open(sealed, '1 key'));
});

encryption('does not open if altered or truncated', async () => {
  const sealed = await seal.seal(ANSWER, '1 key');
  for (const at of [0, 12, 28, sealed.length - 1]) {
    const altered = Buffer.from(sealed);
    altered[at] = (altered[at] ?? 0) ^ 1;
    await refuses(seal.open(altered, '1 key'), `byte ${at}`);
    await refuses(seal.open(sealed.subarray(0, at), '1 key'), `${at} bytes`);
  }
});

encryption('reveals neither the response nor that two are equal', async () => {
  const [first, second] = [await seal.seal(ANSWER, '1 key'), await seal.seal(ANSWER, '1 key')];
  assert.not.ok(first.includes('token'));
  assert.not.equal(first, second);
});

encryption('fingerprints requests with a keyed digest', () => {
  assert.match(seal.fingerprint('a'), /^[0-9a-f]{64}$/);
  assert.is(seal.fingerprint('a'), seal.fingerprint('a'));
  assert.is.not(seal.fingerprint('a'), seal.fingerprint('b'));
  assert.is.not(seal.fingerprint('a'), other.fingerprint('a'));
});

encryption.run();
