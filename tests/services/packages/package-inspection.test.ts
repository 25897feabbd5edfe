import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inspectPackage } from '../../../src/services/packages/package-inspection.ts';
import { makeScratchFolder } from '../../support/files.ts';
import {
  END,
  inspect,
  manifestEntry,
  manifestText,
  packageOf,
  paxHeader,
  problemOf,
  refuses,
  sha256,
  stored,
  tarEntry,
} from '../../support/packages.ts';

const MIB = 1024 ** 2;
const EXPECTED = { slug: 'sales', version: '1.0.0' };

const inspection = suite('inspectPackage');

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

inspection(
  'accepts the output of `tar czf x.tgz .`, with a leading ./ in all paths and the root itself',
  async () => {
    const entries = [
      tarEntry({ path: './', type: 'Directory' }),
      tarEntry({ path: './app.yaml', body: manifestText() }),
      tarEntry({ path: './a', body: 'a' }),
    ];

    const { manifest } = await inspect(gzipSync(Buffer.concat([...entries, END, Buffer.alloc(8192)])));

    assert.is(manifest.slug, 'sales');
  },
);

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

inspection('accepts an archive with several gzip members', async () => {
  const halves = [manifestEntry(), END].map((part) => gzipSync(part));

  assert.is((await inspect(Buffer.concat(halves))).manifest.slug, 'sales');
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

inspection(
  'reports that the store is unavailable if its stream ends too early or has ended before',
  async () => {
    const cut = stored(packageOf());
    cut.body.once('data', () => cut.body.destroy()).pause();
    await problemOf(inspectPackage(cut, EXPECTED), 'package-store-unavailable');

    const gone = stored(packageOf());
    await new Promise<void>((resolve) => gone.body.once('close', () => resolve()).destroy());
    await problemOf(inspectPackage(gone, EXPECTED), 'package-store-unavailable');
  },
);

inspection('refuses an unsound package at once, although the store sends nothing more', async () => {
  const unsound = [
    Buffer.from('no gzip archive'),
    gzipSync(Buffer.alloc(1024, 'x')),
    gzipSync(gzipSync(END)),
  ];
  for (const bytes of unsound) {
    const body = new PassThrough();
    body.write(bytes);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      body.end();
    }, 60_000);

    await problemOf(inspectPackage({ ...stored(bytes), body }, EXPECTED));

    clearTimeout(timer);
    assert.not(isLate);
    assert.ok(body.destroyed);
  }
});

inspection('closes the file in every case', async () => {
  await using folder = await makeScratchFolder();
  const file = folder.join('x.tgz');
  const filler = Array.from({ length: 60 }, (_, i) => tarEntry({ path: `f${i}`, body: randomBytes(20_000) }));
  const sound = packageOf(filler);
  const closed = async (bytes: Buffer, claims = {}) => {
    await writeFile(file, bytes);
    const body = createReadStream(file);
    await Promise.allSettled([inspect(bytes, { body, ...claims })]);
    if (!body.closed) await new Promise<void>((resolve) => body.once('close', () => resolve()));
    return body.destroyed;
  };

  assert.ok(await closed(sound));
  assert.ok(await closed(sound, { sha256: 'bad' }));
  assert.ok(await closed(sound, { sizeBytes: 101 * MIB }));
  assert.ok(await closed(sound.subarray(0, 400_000)));
  assert.ok(await closed(Buffer.concat([Buffer.from('x'), sound])));
  assert.ok(await closed(packageOf([tarEntry({ path: '../evil' }), ...filler])));
});

inspection.run();
