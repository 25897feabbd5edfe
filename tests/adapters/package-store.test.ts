import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createFolderPackageStore } from '../../src/adapters/folder-package-store.ts';
import { createMemoryPackageStore } from '../../src/adapters/memory-package-store.ts';
import type { PackageStore } from '../../src/adapters/package-store.ts';
import { isSlug, isVersion, packageFileName, parsePackageFileName } from '../../src/core/package-name.ts';
import { problemOf, refuses, sha256 } from '../support/build-package.ts';

const root = await mkdtemp(join(tmpdir(), 'steward-test-'));
/** A new path below the test's own folder. */
const fresh = (): string => join(root, randomUUID());

const fileOf = async (bytes: Buffer): Promise<string> => {
  const file = fresh();
  await writeFile(file, bytes);
  return file;
};

/** The hash that 1.0.0 of `sales` is opened with, or null. */
const openedHash = async (packages: PackageStore): Promise<string | null> => {
  const opened = await packages.open('sales', '1.0.0');
  opened?.body.destroy();
  return opened?.sha256 ?? null;
};

const ONE = Buffer.from('one');
const TWO = Buffer.from('two');

const stores: Record<string, () => PackageStore> = {
  folder: () => createFolderPackageStore({ dir: fresh() }),
  memory: () => createMemoryPackageStore(),
};

for (const [name, createStore] of Object.entries(stores)) {
  const store = suite(`${name} package store`);

  store('opens what was published, with its size and hash', async () => {
    const packages = createStore();

    const published = await packages.publish('sales', '1.0.0', await fileOf(ONE));
    const opened = await packages.open('sales', '1.0.0');

    assert.equal(published, { sha256: sha256(ONE), sizeBytes: 3 });
    assert.ok(opened);
    assert.equal(await buffer(opened.body), ONE);
    assert.equal([opened.sizeBytes, opened.sha256], [3, sha256(ONE)]);
  });

  store('opens one package any number of times at once', async () => {
    const packages = createStore();
    await packages.publish('sales', '1.0.0', await fileOf(ONE));

    const opened = await Promise.all([1, 2, 3].map(() => packages.open('sales', '1.0.0')));

    for (const one of opened) assert.equal(one && (await buffer(one.body)), ONE);
  });

  store('lists the versions of a slug and of no other that begins like it', async () => {
    const packages = createStore();
    const file = await fileOf(ONE);
    for (const version of ['1.0.0', '1.1.0-beta.1', '2.0.0+build.5'])
      await packages.publish('a', version, file);
    await packages.publish('a-1', '3.0.0', file);

    assert.equal((await packages.versions('a')).sort(), ['1.0.0', '1.1.0-beta.1', '2.0.0+build.5']);
    assert.equal(await packages.versions('a-1'), ['3.0.0']);
    assert.equal(await packages.versions('b'), []);
  });

  store('has nothing before the first publish', async () => {
    const packages = createStore();

    assert.equal(await packages.versions('sales'), []);
    assert.is(await packages.open('sales', '1.0.0'), null);
  });

  store('has nothing under a name that breaks the rule', async () => {
    const packages = createStore();

    assert.equal(await packages.versions('../sales'), []);
    assert.is(await packages.open('../sales', '1.0.0'), null);
    assert.is(await packages.open('sales', '1.0.0/../../x'), null);
    await refuses(packages.publish('Sales', '1.0.0', await fileOf(ONE)), /cannot name a package/);
    await refuses(packages.publish('sales', 'v1.0.0', await fileOf(ONE)), /cannot name a package/);
  });

  store('takes the same bytes again, and refuses others', async () => {
    const packages = createStore();
    const first = await packages.publish('sales', '1.0.0', await fileOf(ONE));

    assert.equal(await packages.publish('sales', '1.0.0', await fileOf(ONE)), first);
    await refuses(packages.publish('sales', '1.0.0', await fileOf(TWO)), /other bytes/);

    const opened = await packages.open('sales', '1.0.0');
    assert.equal(opened && (await buffer(opened.body)), ONE);
  });

  store('lets exactly one of many different publishers win', async () => {
    const packages = createStore();
    const contents = Array.from({ length: 20 }, (_, i) => Buffer.from(`content ${i}`));
    const sources = await Promise.all(contents.map(fileOf));

    const outcomes = await Promise.allSettled(
      sources.map((file) => packages.publish('sales', '1.0.0', file)),
    );

    const winners = outcomes.flatMap((outcome) =>
      outcome.status === 'fulfilled' ? [outcome.value.sha256] : [],
    );
    const opened = await packages.open('sales', '1.0.0');
    assert.is(winners.length, 1);
    assert.is(opened?.sha256, winners[0]);
    assert.is(opened && sha256(await buffer(opened.body)), winners[0]);
  });

  store('does not blame itself for a source file that is missing', async () => {
    const [outcome] = await Promise.allSettled([createStore().publish('sales', '1.0.0', fresh())]);

    assert.is(outcome.status === 'rejected' && outcome.reason.code, 'ENOENT');
  });

  store.run();
}

const folder = suite('createFolderPackageStore');

const published = async () => {
  const dir = fresh();
  const packages = createFolderPackageStore({ dir });
  await packages.publish('sales', '1.0.0', await fileOf(ONE));
  return { dir, packages, file: join(dir, 'sales-1.0.0.tgz') };
};

folder('leaves the package and its checksum as sha256sum writes it, and nothing else', async () => {
  const { dir, file } = await published();

  assert.equal((await readdir(dir)).sort(), ['sales-1.0.0.tgz', 'sales-1.0.0.tgz.sha256']);
  assert.is(await readFile(`${file}.sha256`, 'utf8'), `${sha256(ONE)}  sales-1.0.0.tgz\n`);
});

folder('leaves nothing behind a refused publish', async () => {
  const { dir, packages } = await published();

  await refuses(packages.publish('sales', '1.0.0', await fileOf(TWO)), /other bytes/);

  assert.is((await readdir(dir)).length, 2);
});

folder('never shows a reader bytes without their checksum, or half of them', async () => {
  const dir = fresh();
  const packages = createFolderPackageStore({ dir });
  const bytes = Buffer.alloc(3_000_000, 'x');
  const source = await fileOf(bytes);
  let isDone = false;
  let looks = 0;

  const publishing = packages.publish('sales', '1.0.0', source).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    looks += 1;
    const listed = await packages.versions('sales');
    const opened = await packages.open('sales', '1.0.0');
    if (listed.length > 0) assert.ok(opened);
    if (opened)
      assert.is(
        createHash('sha256')
          .update(await buffer(opened.body))
          .digest('hex'),
        opened.sha256,
      );
  }

  await publishing;
  assert.ok(looks > 3, `only ${looks} looks`);
});

folder('takes up what a publisher left that died before its bytes were there', async () => {
  const { packages, file } = await published();
  await unlink(file);

  assert.is(await packages.open('sales', '1.0.0'), null);
  await refuses(packages.publish('sales', '1.0.0', await fileOf(TWO)), /other bytes/);
  await packages.publish('sales', '1.0.0', await fileOf(ONE));

  assert.is(await openedHash(packages), sha256(ONE));
});

folder('gives a checksum to the bytes somebody put there, and never exchanges them', async () => {
  const { packages, file } = await published();
  await unlink(`${file}.sha256`);

  await refuses(packages.publish('sales', '1.0.0', await fileOf(TWO)), /other bytes/);
  await refuses(packages.open('sales', '1.0.0'), /no valid checksum/);
  await packages.publish('sales', '1.0.0', await fileOf(ONE));

  assert.is(await openedHash(packages), sha256(ONE));
});

const checksums: [what: string, text: string, isValid: boolean][] = [
  ['text mode', `${sha256(ONE)}  sales-1.0.0.tgz\n`, true],
  ['binary mode', `${sha256(ONE)} *sales-1.0.0.tgz\n`, true],
  ['upper case', `${sha256(ONE).toUpperCase()}  sales-1.0.0.tgz`, true],
  ['a folder before the name', `${sha256(ONE)}  ./dist/sales-1.0.0.tgz\r\n`, true],
  ['nothing', '', false],
  ['no name', `${sha256(ONE)}\n`, false],
  ['another name', `${sha256(ONE)}  sales-1.0.1.tgz\n`, false],
  ['too few digits', `${sha256(ONE).slice(1)}  sales-1.0.0.tgz\n`, false],
  ['two lines', `${sha256(ONE)}  sales-1.0.0.tgz\n${sha256(TWO)}  sales-1.0.0.tgz\n`, false],
];
for (const [what, text, isValid] of checksums) {
  folder(`${isValid ? 'takes' : 'refuses'} a checksum file with ${what}`, async () => {
    const { packages, file } = await published();
    await writeFile(`${file}.sha256`, text);

    if (!isValid) return refuses(packages.open('sales', '1.0.0'), /sales-1\.0\.0\.tgz\.sha256/);
    assert.is(await openedHash(packages), sha256(ONE));
  });
}

folder('passes over other files', async () => {
  const { dir, packages } = await published();
  for (const name of [
    '.sales-2.0.0.tgz.x.tmp',
    'sales-3.tgz',
    'sales-v4.0.0.tgz',
    'sales-5.0.0.zip',
    'README',
  ]) {
    await writeFile(join(dir, name), '');
  }

  assert.equal(await packages.versions('sales'), ['1.0.0']);
});

folder('is away when its folder cannot be used', async () => {
  const packages = createFolderPackageStore({ dir: join(await fileOf(ONE), 'below-a-file') });
  const source = await fileOf(ONE);

  const problem = await problemOf(packages.versions('sales'), 'store-away');
  await problemOf(packages.open('sales', '1.0.0'), 'store-away');
  await problemOf(packages.publish('sales', '1.0.0', source), 'store-away');

  assert.match(String(problem.cause), /ENOTDIR/);
});

folder('is away when its checksum cannot be read', async () => {
  const { packages, file } = await published();
  await unlink(`${file}.sha256`);
  await mkdir(`${file}.sha256`);

  await problemOf(packages.open('sales', '1.0.0'), 'store-away');
});

folder.after(() => rm(root, { recursive: true }));
folder.run();

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

names('part again into the slug and the version they were made of', () => {
  fc.assert(
    fc.property(slugs, versions, (slug, version) => {
      const name = packageFileName(slug, version);
      assert.is(name, `${slug}-${version}.tgz`);
      assert.equal(parsePackageFileName(name ?? ''), { slug, version });
    }),
    { numRuns: 1000 },
  );
});

names('are read in one way only: whatever parses is what its parts make', () => {
  const pieces = fc.constantFrom('a', '-', '1', '0', '.', '_', '1.0.0', '+', '/', 'B', '.tgz');
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (told) => {
      const name = `${told.join('')}.tgz`;
      const parsed = parsePackageFileName(name);
      if (parsed) assert.is(packageFileName(parsed.slug, parsed.version), name);
    }),
    { numRuns: 5000 },
  );
});

names('have hyphens in slugs and in versions', () => {
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

names('have slugs and versions within their rules', () => {
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
