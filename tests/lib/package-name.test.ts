import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isSlug, isVersion, packageFileName, parsePackageFileName } from '../../src/lib/package-name.ts';

const names = suite('package file names');

const slugs = fc.stringMatching(/^[a-z0-9_-]{1,64}$/);
const numbers = fc.nat().map(String);
const parts = fc.array(fc.stringMatching(/^(0|[1-9]\d{0,8}|[0-9]{0,4}[a-zA-Z-][0-9a-zA-Z-]{0,8})$/), {
  minLength: 1,
  maxLength: 3,
});
const versions = fc
  .record({ core: fc.tuple(numbers, numbers, numbers), pre: fc.option(parts), build: fc.option(parts) })
  .map(
    ({ core, pre, build }) =>
      core.join('.') + (pre ? `-${pre.join('.')}` : '') + (build ? `+${build.join('.')}` : ''),
  );

names('parse into the slug and version that they were formatted from', () => {
  fc.assert(
    fc.property(slugs, versions, (slug, version) => {
      const name = packageFileName(slug, version);
      assert.is(name, `${slug}-${version}.tgz`);
      assert.equal(parsePackageFileName(name ?? ''), { slug, version });
    }),
    { numRuns: 1000 },
  );
});

names('may have hyphens in slug and version', () => {
  assert.equal(parsePackageFileName('a-1-2.0.0-3.0.0.tgz'), { slug: 'a-1', version: '2.0.0-3.0.0' });
  assert.equal(parsePackageFileName('--1.0.0.tgz'), { slug: '-', version: '1.0.0' });
  for (const name of [
    '1.0.0.tgz',
    '-1.0.0.tgz',
    'a-1.0.tgz',
    'a-1.0.0.tgz.sha256',
    'x/a-1.0.0.tgz',
    'a-1.0.0.tgz\n',
  ]) {
    assert.is(parsePackageFileName(name), null, name);
  }
});

names('do not parse with an invalid slug or version', () => {
  assert.ok(isSlug('a'.repeat(64)));
  for (const slug of ['', 'a'.repeat(65), 'A', 'a.b', 'a/b', 'é', 'a\n']) assert.not(isSlug(slug), slug);
  assert.ok(isVersion(`1.0.0-${'a'.repeat(122)}`));
  const versions = [
    '',
    '1',
    '1.0',
    'v1.0.0',
    ' 1.0.0',
    '1.0.0 ',
    '01.0.0',
    '1.0.0-01',
    '1.0.0-',
    '1.0.0\n',
    'latest',
  ];
  for (const version of [...versions, `1.0.0-${'a'.repeat(123)}`]) assert.not(isVersion(version), version);
});

names.run();
