import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { HeaderData } from 'tar';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inspectPackage } from '../../../src/services/packages/package-inspection.ts';
import {
  END,
  manifestEntry,
  manifestText,
  packageOf,
  paxHeader,
  problemOf,
  refuses,
  sha256,
  stored,
  tarEntry,
} from '../../support/build-package.ts';

const MIB = 1024 ** 2;
const expected = { slug: 'sales', version: '1.0.0' };
const inspect = (bytes: Buffer, claims = {}) => inspectPackage(stored(bytes, claims), expected);
const inspectEntry = (entry: HeaderData & { path: string; body?: string }) =>
  inspect(packageOf([tarEntry(entry)]));

/** A stored package's stream that tells how much of it was read. */
const counted = (bytes: Buffer) => {
  let readBytes = 0;
  const stream = stored(bytes).body.map((chunk: Buffer) => {
    readBytes += chunk.length;
    return chunk;
  });
  return { stream, total: () => readBytes };
};

const inspection = suite('inspectPackage');

inspection('answers the manifest, hash and size of a sound package', async () => {
  const bytes = packageOf([
    tarEntry({ path: 'pages/', type: 'Directory' }),
    tarEntry({ path: 'pages/index.html', body: 'x'.repeat(5000) }),
    tarEntry({ path: 'empty.txt' }),
  ]);

  const { manifest, ...rest } = await inspect(bytes);

  assert.is(manifest.label, 'Sales');
  assert.equal(rest, { sha256: sha256(bytes), sizeBytes: bytes.length });
});

inspection('takes what `tar czf x.tgz .` makes: a leading ./ everywhere, and the root itself', async () => {
  const entries = [
    tarEntry({ path: './', type: 'Directory' }),
    tarEntry({ path: './app.yaml', body: manifestText() }),
    tarEntry({ path: './a', body: 'a' }),
  ];

  const { manifest } = await inspect(gzipSync(Buffer.concat([...entries, END, Buffer.alloc(8192)])));

  assert.is(manifest.slug, 'sales');
});

inspection('takes pax headers as what they say of an entry', async () => {
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

inspection('takes an archive in several gzip members', async () => {
  const halves = [manifestEntry(), END].map((part) => gzipSync(part));

  assert.is((await inspect(Buffer.concat(halves))).manifest.slug, 'sales');
});

const offences: [what: string, entry: HeaderData & { path: string; body?: string }, detail: RegExp][] = [
  ['a path out of the folder', { path: '../evil', body: 'x' }, /leads out of it: "\.\.\/evil"/],
  ['a path out of the folder further in', { path: 'a/../../evil', body: 'x' }, /leads out of it/],
  ['a path that ends in ..', { path: 'a/..', type: 'Directory' }, /leads out of it/],
  ['an absolute path', { path: '/etc/passwd', body: 'x' }, /absolute path: "\/etc\/passwd"/],
  ['an absolute path behind ./', { path: './/etc/passwd', body: 'x' }, /absolute path/],
  ['a drive letter', { path: 'C:evil', body: 'x' }, /absolute path/],
  ['a backslash', { path: '..\\evil', body: 'x' }, /backslash/],
  ['an empty segment', { path: 'a//b', body: 'x' }, /unclear path/],
  ['a dot segment', { path: 'a/./b', body: 'x' }, /unclear path/],
  ['a symbolic link', { path: 'l', type: 'SymbolicLink', linkpath: '/etc' }, /"l", which is .* SymbolicLink/],
  ['a hard link', { path: 'l', type: 'Link', linkpath: 'app.yaml' }, /"l", which is .* Link/],
  ['a character device', { path: 'd', type: 'CharacterDevice' }, /CharacterDevice/],
  ['a block device', { path: 'd', type: 'BlockDevice' }, /BlockDevice/],
  ['a fifo', { path: 'f', type: 'FIFO' }, /FIFO/],
  ['a sparse file', { path: 's', type: 'SparseFile' }, /SparseFile/],
  ['a second app.yaml', { path: 'app.yaml', body: manifestText() }, /a path twice: "app.yaml"/],
  ['a second app.yaml behind ./', { path: './app.yaml', body: manifestText() }, /a path twice/],
  ['a folder named as a file is', { path: 'app.yaml/', type: 'Directory' }, /a path twice/],
  [
    'a file of 200 MiB by its header',
    { path: 'big', size: 200 * MIB },
    /unpacked package is larger than 100 MiB/,
  ],
];
for (const [what, entry, detail] of offences) {
  inspection(`refuses ${what}`, () => refuses(inspectEntry(entry), detail));
}

inspection('refuses a path that pax hides: out of the folder, with a NUL, too long', async () => {
  const hiding = (path: string) =>
    inspect(packageOf([paxHeader({ path }), tarEntry({ path: 'ok', body: 'x' })]));

  await refuses(hiding('../evil'), /leads out of it/);
  await refuses(hiding('ok\0/../evil'), /with a NUL/);
  await refuses(hiding('x'.repeat(1025)), /longer than 1024/);
});

inspection('refuses a path out of the folder in a long name of GNU tar', () =>
  refuses(
    inspect(
      packageOf([
        tarEntry({ path: '././@LongLink', type: 'NextFileHasLongPath', body: '../evil\0' }),
        tarEntry({ path: 'ok', body: 'x' }),
      ]),
    ),
    /leads out of it: "\.\.\/evil"/,
  ),
);

inspection('refuses links whose path pax gives', () =>
  refuses(
    inspect(
      packageOf([
        paxHeader({ path: 'fine', linkpath: '/etc' }),
        tarEntry({ path: 'l', type: 'SymbolicLink', linkpath: 'x' }),
      ]),
    ),
    /"fine", which is .* SymbolicLink/,
  ),
);

inspection('refuses more than 10,000 entries', async () => {
  const entries = (count: number) => Array.from({ length: count }, (_, i) => tarEntry({ path: `f${i}` }));

  assert.ok(await inspect(packageOf(entries(9_999))));
  await refuses(inspect(packageOf(entries(10_000))), /more than 10000 entries/);
});

inspection('refuses a broken header', async () => {
  const entry = tarEntry({ path: 'a', body: 'x' });
  entry.write('7', 100);

  await refuses(inspect(packageOf([entry])), /not a sound tar archive/);
});

inspection('refuses a package without app.yaml at its root', async () => {
  const nested = tarEntry({ path: 'sales/app.yaml', body: manifestText() });

  await refuses(inspect(packageOf([], nested)), /no file app\.yaml at its root/);
  await refuses(
    inspect(packageOf([], tarEntry({ path: 'app.yaml/', type: 'Directory' }))),
    /no file app\.yaml/,
  );
  await refuses(inspect(gzipSync(END)), /no file app\.yaml/);
});

inspection('refuses an app.yaml of more than 1 MiB unread', async () => {
  const bytes = packageOf([], tarEntry({ path: 'app.yaml', body: randomBytes(MIB + 1) }));
  const { stream, total } = counted(bytes);

  await refuses(inspect(bytes, { body: stream }), /app\.yaml is larger than 1 MiB/);

  assert.ok(total() < bytes.length / 2);
});

inspection('refuses an app.yaml that is not YAML', () =>
  refuses(
    inspect(packageOf([], tarEntry({ path: 'app.yaml', body: 'a: [1' }))),
    /app\.yaml is not valid YAML/,
  ),
);

inspection('names all missing fields of app.yaml at once', async () => {
  const problem = await problemOf(inspect(packageOf([], tarEntry({ path: 'app.yaml', body: 'stacks: []' }))));

  assert.equal(Object.keys(problem.fields ?? {}), ['slug', 'version', 'label']);
});

inspection('refuses another slug or version inside than asked for', async () => {
  const inside = (lines: Record<string, string>) => problemOf(inspect(packageOf([], manifestEntry(lines))));

  const slug = await inside({ slug: 'churn' });
  assert.is(slug.message, 'app.yaml has slug churn instead of sales.');
  assert.equal(slug.fields, { slug: ['must be sales'] });
  const both = await inside({ slug: 'churn', version: '1.0.1' });
  assert.is(both.message, 'app.yaml has slug churn instead of sales and version 1.0.1 instead of 1.0.0.');
});

inspection('refuses bytes other than those published', () =>
  refuses(inspect(packageOf(), { sha256: 'a'.repeat(64) }), /SHA-256/),
);

inspection('refuses what is not gzip', async () => {
  await refuses(inspect(Buffer.from('not an archive')), /not a whole gzip archive/);
  await refuses(inspect(Buffer.concat([manifestEntry(), END])), /not a whole gzip archive/);
  await refuses(inspect(Buffer.alloc(0)), /not a whole gzip archive/);
});

inspection('refuses an archive cut off at any place', async () => {
  const bytes = packageOf([tarEntry({ path: 'a', body: randomBytes(3000) })]);

  for (let length = 1; length < bytes.length; length += 97) {
    await refuses(inspect(bytes.subarray(0, length)), /not a whole gzip archive/);
  }
});

inspection('refuses a tar stream cut off inside whole gzip', async () => {
  const tar = Buffer.concat([manifestEntry(), tarEntry({ path: 'a', body: 'x'.repeat(2000) }), END]);

  for (const length of [1024, 1500, 2048, tar.length - 1024, tar.length - 512]) {
    await refuses(inspect(gzipSync(tar.subarray(0, length))), /ends in the middle/);
  }
});

inspection('refuses anything after the end, in the tar stream or behind the gzip', async () => {
  const tar = Buffer.concat([manifestEntry(), END]);
  const behind = (garbage: Buffer) => inspect(Buffer.concat([gzipSync(tar), garbage]));

  await refuses(inspect(gzipSync(Buffer.concat([tar, tarEntry({ path: 'hidden' })]))), /after the end/);
  await refuses(
    inspect(gzipSync(Buffer.concat([tar, Buffer.alloc(200_000), Buffer.from('x')]))),
    /after the end/,
  );
  await refuses(behind(Buffer.from('garbage')), /not a whole gzip archive/);
  await refuses(behind(Buffer.alloc(10)), /something after its end/);
  await refuses(behind(Buffer.alloc(100_000)), /something after its end/);
});

inspection('refuses a package packed twice, whose inner layer nobody would count', () =>
  refuses(inspect(gzipSync(packageOf([tarEntry({ path: 'a', body: randomBytes(2000) })]))), /packed twice/),
);

inspection('refuses an archive whose size is told as more than 100 MiB without reading it', async () => {
  let reads = 0;
  const body = new Readable({
    read: () => {
      reads += 1;
    },
  });

  await refuses(inspect(packageOf(), { body, sizeBytes: 100 * MIB + 1 }), /package is larger than 100 MiB/);

  assert.ok(body.destroyed);
  assert.is(reads, 0);
});

/** A gzip stream that never ends: its header, then empty deflate blocks, which unpack to nothing. */
const endlessGzip = function* (count: () => void) {
  yield Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
  const blocks = Buffer.concat(Array.from({ length: 13_000 }, () => Buffer.from([0, 0, 0, 0xff, 0xff])));
  for (;;) {
    count();
    yield blocks;
  }
};

inspection('stops reading an archive that grows beyond 100 MiB, whatever its size was told as', async () => {
  let reads = 0;
  const body = Readable.from(
    endlessGzip(() => {
      reads += 1;
    }),
  );

  await refuses(inspect(packageOf(), { body, sizeBytes: 1000 }), /package is larger than 100 MiB/);

  assert.ok(body.destroyed);
  const boundReads = (100 * MIB) / 65_000;
  assert.ok(reads > boundReads - 1 && reads < boundReads + 40, `${reads} reads`);
});

inspection('stops unpacking beyond 100 MiB of headers, which no entry declares', async () => {
  const headers = Buffer.concat(
    Array.from({ length: 1000 }, () => paxHeader({ comment: 'x'.repeat(60_000) })),
  );
  const bomb = gzipSync(Buffer.concat([headers, headers]));
  const piece = gzipSync(Buffer.concat([manifestEntry(), headers]));

  const started = process.memoryUsage().rss;
  await refuses(inspect(Buffer.concat([piece, bomb])), /unpacked package is larger than 100 MiB/);

  assert.ok(process.memoryUsage().rss - started < 60 * MIB);
});

inspection('stops unpacking 200 MiB of zeros behind the end of the archive', async () => {
  const zeros = gzipSync(Buffer.alloc(50 * MIB));
  const bytes = Buffer.concat([packageOf(), zeros, zeros, zeros, zeros]);
  const { stream, total } = counted(bytes);

  await refuses(inspect(bytes, { body: stream }), /unpacked package is larger than 100 MiB/);

  assert.ok(total() < bytes.length * 0.75, `${total()} of ${bytes.length}`);
});

inspection('says that the store is away when its stream breaks', async () => {
  const broken = new Error('ECONNRESET');
  const body = Readable.from(
    (async function* () {
      yield packageOf().subarray(0, 50);
      throw broken;
    })(),
  );

  const problem = await problemOf(inspect(packageOf(), { body }), 'store-away');

  assert.is(problem.cause, broken);
});

inspection('says that the store is away when its stream ends too soon, or ended before', async () => {
  const cut = stored(packageOf());
  cut.body.once('data', () => cut.body.destroy()).pause();
  await problemOf(inspectPackage(cut, expected), 'store-away');

  const gone = stored(packageOf());
  await new Promise<void>((resolve) => gone.body.once('close', () => resolve()).destroy());
  await problemOf(inspectPackage(gone, expected), 'store-away');
});

inspection('closes the file it reads, accepted or refused at any point', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'steward-test-'));
  const file = join(folder, 'x.tgz');
  const filler = Array.from({ length: 60 }, (_, i) => tarEntry({ path: `f${i}`, body: randomBytes(20_000) }));
  const sound = packageOf(filler);
  const closed = async (bytes: Buffer, claims = {}) => {
    await writeFile(file, bytes);
    const body = createReadStream(file);
    await Promise.allSettled([inspect(bytes, { body, ...claims })]);
    if (!body.closed) await new Promise<void>((resolve) => body.once('close', () => resolve()));
    return body.destroyed;
  };

  try {
    assert.ok(await closed(sound));
    assert.ok(await closed(sound, { sha256: 'bad' }));
    assert.ok(await closed(sound, { sizeBytes: 101 * MIB }));
    assert.ok(await closed(sound.subarray(0, 400_000)));
    assert.ok(await closed(Buffer.concat([Buffer.from('x'), sound])));
    assert.ok(await closed(packageOf([tarEntry({ path: '../evil' }), ...filler])));
  } finally {
    await rm(folder, { recursive: true });
  }
});

inspection.run();
