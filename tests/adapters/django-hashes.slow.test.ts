import * as assert from 'uvu/assert';
import { createPasswordHasher, type PasswordHasher } from '../../src/adapters/hashing/password-hasher.ts';
import { reasonAgainstHash } from '../../src/adapters/hashing/password-hashes.ts';
import recorded from '../fixtures/django/hashes.json' with { type: 'json' };
import { suite } from '../support/suite.ts';
import { CHEAP_HASH } from '../support/test-server.ts';

type DjangoHash = { kind: string; password: string; hash: string };

const KINDS = ['argon2', 'bcrypt_sha256', 'pbkdf2_sha256', 'scrypt'];

const hashes = suite<{ hasher: PasswordHasher }>('Django hashes');

hashes.before(async (context) => {
  context.hasher = await createPasswordHasher(2, CHEAP_HASH);
});

const verifyAll = async ({ verify, isOutdated }: PasswordHasher, made: DjangoHash[]) => {
  for (const { kind, password, hash } of made) {
    assert.is(await verify(hash, password), true, `${kind} of ${JSON.stringify(password)}`);
    assert.is(
      await verify(hash, `${password}.`),
      false,
      `${kind} of another than ${JSON.stringify(password)}`,
    );
    assert.is(isOutdated(hash), true);
    assert.is(reasonAgainstHash(hash), null);
  }
  assert.equal([...new Set(made.map(({ kind }) => kind))].sort(), KINDS);
};

hashes('verify the recorded passwords', ({ hasher }) => verifyAll(hasher, recorded));

/** Valid hashes of the password `p` with low costs. */
const hashOf = (kind: string): string =>
  recorded.find((made) => made.kind === kind && made.password === 'p')?.hash ?? `no ${kind} is recorded`;
const [argon2, pbkdf2, scrypt] = [hashOf('argon2'), hashOf('pbkdf2_sha256'), hashOf('scrypt')];
const bcrypt = hashOf('bcrypt_sha256');

const MALFORMED = {
  'an unusable password': '!yfFunbMUS2BoAthutndkO3WBa8oFK9xlHSCB54gp',
  'no hash': '',
  'an unknown kind': pbkdf2.replace('sha256', 'sha512'),
  'SHA-1': pbkdf2.replace('sha256', 'sha1'),
  'a bcrypt of the password itself': bcrypt.replace('_sha256$', '$'),
  'a kind alone': 'pbkdf2_sha256',
  'something before it': ` ${pbkdf2}`,
  'something after it': `${bcrypt}\n`,
  'no iterations': pbkdf2.replace('$100$', '$0$'),
  'negative iterations': pbkdf2.replace('$100$', '$-100$'),
  'no salt': pbkdf2.replace(/\$ödd[^$]*\$/, '$$$$'),
  'a short digest': pbkdf2.replace(/.{8}=$/, '='),
  'a bcrypt without its prefix': bcrypt.replace('bcrypt_sha256$', ''),
  'an unknown bcrypt prefix': bcrypt.replace('_sha256$', '_sha1$'),
  'a bcrypt cost below the least': bcrypt.replace('$04$', '$03$'),
  'a short bcrypt': bcrypt.slice(0, -1),
  'an unknown bcrypt': bcrypt.replace('$2b$', '$2x$'),
  'an unknown argon2': argon2.replace('argon2id', 'argon2x'),
  'an argon2 version to come': argon2.replace('v=19', 'v=20'),
  'a cost twice': argon2.replace('t=1', 'm=1'),
  'no passes': argon2.replace('t=1', 't=0'),
  'no lanes': argon2.replace('p=2', 'p=0'),
  'less memory than the lanes take': argon2.replace('m=64', 'm=15'),
  'a short argon2 salt': argon2.replace(/\$[^$]+(\$[^$]+)$/, '$$c2FsdA$1'),
  'a scrypt memory cost that is no power of two': scrypt.replace('$16$', '$15$'),
  'a scrypt memory cost of 1': scrypt.replace('$16$', '$1$'),
  'no scrypt lanes': scrypt.replace('$8$3$', '$8$0$'),
  'a short scrypt': scrypt.replace(/.{8}==$/, '=='),
  'a short argon2 hash': argon2.replace(/[^$]+$/, 'aGFzaA'),
};

const ABSURD = {
  'more iterations than 10 million': pbkdf2.replace('$100$', '$10000001$'),
  'iterations past all numbers': pbkdf2.replace('$100$', `$${'9'.repeat(400)}$`),
  'a bcrypt cost over 15': bcrypt.replace('$04$', '$16$'),
  'more scrypt memory than 256 MiB': scrypt.replace('$16$', '$524288$'),
  'more than a GiB in the lanes of scrypt': scrypt.replace('$8$3$', '$65536$513$'),
  'more memory than 256 MiB': argon2.replace('m=64', 'm=262145'),
  'more passes than 16': argon2.replace('t=1', 't=17'),
  'more lanes than 16': argon2.replace('p=2', 'p=17').replace('m=64', 'm=256'),
  'more than a GiB filled': argon2.replace('m=64', 'm=262144').replace('t=1', 't=5'),
};

const REFUSED = [
  ...Object.entries(MALFORMED).map(([what, hash]) => [what, hash, /^This format/] as const),
  ...Object.entries(ABSURD).map(
    ([what, hash]) => [what, hash, /^Would make each login too expensive: more/] as const,
  ),
];
for (const [what, hash, reason] of REFUSED) {
  hashes(`never verify, and never throw: ${what}`, async ({ hasher }) => {
    assert.is(await hasher.verify(hash, 'p'), false);
    assert.is(hasher.isOutdated(hash), false);
    assert.match(reasonAgainstHash(hash) ?? '', reason);
  });
}

hashes('verify once they are complete', async ({ hasher }) => {
  for (const hash of [
    argon2,
    bcrypt,
    pbkdf2,
    bcrypt.replace('$2b$', '$2y$'),
    bcrypt.replace('$2b$', '$2a$'),
    scrypt,
  ]) {
    assert.is(await hasher.verify(hash, 'p'), true);
  }
});

hashes('are accepted with any cost up to the limits', () => {
  for (const hash of [
    pbkdf2.replace('$100$', '$10000000$'),
    scrypt.replace('$16$', '$262144$').replace('$8$3$', '$8$4$'),
    bcrypt.replace('$04$', '$15$'),
    argon2.replace('m=64', 'm=262144').replace('t=1', 't=4').replace('p=2', 'p=16'),
    argon2.replace('m=64,t=1,p=2', 'p=16,t=16,m=65536'),
  ]) {
    assert.is(reasonAgainstHash(hash), null, hash);
  }
});

hashes('do not block the event loop while they are verified', async ({ hasher }) => {
  for (const kind of KINDS) {
    const [dear] = recorded.filter((made) => made.kind === kind);
    assert.ok(dear);
    const order: string[] = [];
    const verified = hasher.verify(dear.hash, dear.password).then(() => order.push('verified'));
    setImmediate(() => order.push('others'));
    await verified;

    assert.equal(order, ['others', 'verified'], kind);
  }
});

hashes.run();
