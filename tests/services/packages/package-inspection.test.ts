import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inspectPackage } from '../../../src/services/packages/package-inspection.ts';
import {
  END,
  inspect,
  inspectEntry,
  manifestEntry,
  manifestText,
  type OddEntry,
  packageOf,
  paxHeader,
  problemOf,
  refuses,
  sha256,
  stored,
  tarEntry,
} from '../../support/packages.ts';

const inspection = suite('inspectPackage');

const MIB = 1024 ** 2;

const EXPECTED = { slug: 'sales', version: '1.0.0' };

inspection('returns the manifest, hash and size of a valid package', async () => {
  const bytes = packageOf([
    tarEntry({ path: 'pages/', type: 'Directory' }),
    tarEntry({ path: 'pages/index.html', body: 'x'.repeat(5000) }),
    tarEntry({ path: 'empty.txt' }),
  ]);

  const { manifest, ...rest } = await inspect(bytes);

  assert.is(manifest.label, 'Sales');
  assert.equal(rest, { sha256: sha256(bytes), sizeBytes: bytes.length });
});

inspection('accepts the output of `tar czf x.tgz .`', async () => {
  const entries = [
    tarEntry({ path: './', type: 'Directory' }),
    tarEntry({ path: './app.yaml', body: manifestText() }),
    tarEntry({ path: './a', body: 'a' }),
  ];

  const { manifest } = await inspect(gzipSync(Buffer.concat([...entries, END, Buffer.alloc(8192)])));

  assert.is(manifest.slug, 'sales');
});

inspection('applies pax headers', async () => {
  const path = `${'déjà/'.repeat(60)}vu`;

  const { manifest } = await inspect(
    packageOf([
      paxHeader({ comment: '52af2b1' }, true),
      paxHeader({ path }),
      tarEntry({ path: 'short', body: 'a' }),
    ]),
  );

  assert.is(manifest.slug, 'sales');
});

inspection('refuses a package without app.yaml at its root', async () => {
  const nested = tarEntry({ path: 'sales/app.yaml', body: manifestText() });

  await refuses(inspect(packageOf([], nested)), /no file app\.yaml at its root/);
  await refuses(
    inspect(packageOf([], tarEntry({ path: 'app.yaml/', type: 'Directory' }))),
    /no file app\.yaml/,
  );
});

inspection('refuses an app.yaml that is not YAML', () =>
  refuses(
    inspect(packageOf([], tarEntry({ path: 'app.yaml', body: 'a: [1' }))),
    /app\.yaml is not valid YAML/,
  ),
);

inspection('reports all missing fields of app.yaml at once', async () => {
  const problem = await problemOf(inspect(packageOf([], tarEntry({ path: 'app.yaml', body: 'stacks: []' }))));

  assert.equal(Object.keys(problem.fields ?? {}), ['slug', 'version', 'label']);
});

inspection('refuses a package with another slug or version than requested', async () => {
  const inside = (lines: Record<string, string>) => problemOf(inspect(packageOf([], manifestEntry(lines))));

  const slug = await inside({ slug: 'churn' });
  assert.is(slug.message, 'app.yaml has slug churn instead of sales.');
  assert.equal(slug.fields, { slug: ['must be sales'] });
  const both = await inside({ slug: 'churn', version: '1.0.1' });
  assert.is(both.message, 'app.yaml has slug churn instead of sales and version 1.0.1 instead of 1.0.0.');
});

inspection('refuses bytes that differ from the published ones', () =>
  refuses(inspect(packageOf(), { sha256: 'a'.repeat(64) }), /SHA-256/),
);

inspection('reports that the store is unavailable if its stream fails', async () => {
  const broken = new Error('ECONNRESET');
  const body = Readable.from(
    (async function* () {
      yield packageOf().subarray(0, 50);
      throw broken;
    })(),
  );

  const problem = await problemOf(inspect(packageOf(), { body }), 'package-store-unavailable');

  assert.is(problem.cause, broken);
});

inspection('reports that the store is unavailable if its stream ends too early', async () => {
  const cut = stored(packageOf());
  cut.body.once('data', () => cut.body.destroy()).pause();
  await problemOf(inspectPackage(cut, EXPECTED), 'package-store-unavailable');

  const gone = stored(packageOf());
  await new Promise<void>((resolve) => gone.body.once('close', () => resolve()).destroy());
  await problemOf(inspectPackage(gone, EXPECTED), 'package-store-unavailable');
});

inspection('broken archives: refuses a broken header, other data, and a truncated archive', async () => {
  const broken = tarEntry({ path: 'a', body: 'x' });
  broken.write('7', 100);
  const whole = packageOf([tarEntry({ path: 'a', body: randomBytes(3000) })]);

  await refuses(inspect(packageOf([broken])), /not a sound \.tgz archive: .*checksum failure\.$/);
  await refuses(
    inspect(Buffer.from('not an archive')),
    /not a sound \.tgz archive: incorrect header check\.$/,
  );
  await refuses(inspect(Buffer.alloc(0)), /not a sound/);
  await refuses(inspect(gzipSync(Buffer.from('x'))), /not a sound/);
  for (const length of [1, 500, 2000, whole.length - 1])
    await refuses(inspect(whole.subarray(0, length)), /not a sound \.tgz archive: unexpected end of file\.$/);
});

inspection(
  'broken archives: refuses a package that was compressed twice, whose inner layer would bypass the limits',
  () =>
    refuses(inspect(gzipSync(packageOf([tarEntry({ path: 'a', body: randomBytes(2000) })]))), /packed twice/),
);

const GIB_IN_MIB = 1024;

/** Memory of the streams, independent of the package. Keeping its content would take 100 MiB and more. */
const FLAT_BYTES = 90 * MIB;

/** A package that ends with 1,024 copies of a MiB, generated while it is read. `seen` counts the copies read. */
const bombOf = (prefix: Buffer, repeatedMiB: Buffer) => {
  const repeated = gzipSync(repeatedMiB);
  const seen = { chunks: 0, peakBytes: 0 };
  const chunks = function* () {
    yield gzipSync(prefix);
    for (; seen.chunks < GIB_IN_MIB; seen.chunks += 1) {
      seen.peakBytes = Math.max(seen.peakBytes, process.memoryUsage().rss);
      yield repeated;
    }
  };
  return { body: Readable.from(chunks()), sizeBytes: 2 * MIB, seen };
};

const defused = async (bomb: ReturnType<typeof bombOf>, maxPieces: number): Promise<void> => {
  const before = process.memoryUsage().rss;

  await refuses(inspect(packageOf(), bomb), /unpacked package is larger than 100 MiB/);

  assert.ok(bomb.body.destroyed);
  assert.ok(bomb.seen.chunks <= maxPieces, `read ${bomb.seen.chunks} MiB of ${GIB_IN_MIB}`);
  const grownMiB = Math.round((bomb.seen.peakBytes - before) / MIB);
  assert.ok(grownMiB < FLAT_BYTES / MIB, `took ${grownMiB} MiB of memory`);
};

/** Chunks queued for zlib when the package is refused: they are small, and 64 KiB of them are read ahead. */
const UNDER_WAY = 80;

inspection('bombs: stops after 100 MiB of a file of 1 GiB', () => {
  const header = tarEntry({ path: 'zeros', size: GIB_IN_MIB * MIB });

  return defused(bombOf(Buffer.concat([manifestEntry(), header]), Buffer.alloc(MIB)), 100 + UNDER_WAY);
});

const OFFENCES: [what: string, entry: OddEntry, detail: RegExp][] = [
  ['a symbolic link', { path: 'l', type: 'SymbolicLink', linkpath: '/etc' }, /"l", which is .* SymbolicLink/],
  ['a hard link', { path: 'l', type: 'Link', linkpath: 'app.yaml' }, /"l", which is .* Link/],
  ['app.yaml as a link', { path: './app.yaml', type: 'SymbolicLink', linkpath: 'x' }, /SymbolicLink/],
  ['a character device', { path: 'd', type: 'CharacterDevice' }, /CharacterDevice/],
  ['a fifo', { path: 'f', type: 'FIFO' }, /FIFO/],
];

for (const [what, entry, detail] of OFFENCES) {
  inspection(`links: refuses ${what}`, () => refuses(inspectEntry(entry), detail));
}

const UNSAFE_PATHS: [what: string, entry: OddEntry, detail: RegExp][] = [
  ['a path out of the folder', { path: '../evil', body: 'x' }, /leads out of it: "\.\.\/evil"/],
  ['an absolute path', { path: '/etc/passwd', body: 'x' }, /absolute path: "\/etc\/passwd"/],
  ['a drive letter', { path: 'C:evil', body: 'x' }, /absolute path/],
  ['a backslash', { path: '..\\evil', body: 'x' }, /backslash/],
  ['a line break', { path: 'a\nb', body: 'x' }, /control character: "a\\nb"/],
  ['an empty segment', { path: 'a//b', body: 'x' }, /unclear path/],
  ['a second app.yaml', { path: 'app.yaml', body: manifestText() }, /a path twice: "app.yaml"/],
  ['a second app.yaml behind ./', { path: './app.yaml', body: manifestText() }, /a path twice/],
  ['a folder named as a file is', { path: 'app.yaml/', type: 'Directory' }, /a path twice/],
];

for (const [what, entry, detail] of UNSAFE_PATHS) {
  inspection(`unsafe paths: refuses ${what}`, () => refuses(inspectEntry(entry), detail));
}

inspection('unsafe paths: refuses a path in a pax header that leaves the folder or is too long', async () => {
  const hiding = (path: string) =>
    inspect(packageOf([paxHeader({ path }), tarEntry({ path: 'ok', body: 'x' })]));

  await refuses(hiding('../evil'), /leads out of it/);
  await refuses(hiding('x'.repeat(1025)), /longer than 1024/);
});

inspection.run();
