import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  countBytes,
  inspect,
  inspectEntry,
  manifestEntry,
  packageOf,
  paxHeader,
  refuses,
  tarEntry,
} from '../../support/packages.ts';

const MIB = 1024 ** 2;

const sizes = suite('inspectPackage: size limits');

sizes(
  'refuses a file of 200 MiB by its header, and several files that exceed the limit together',
  async () => {
    await refuses(inspectEntry({ path: 'big', size: 200 * MIB }), /unpacked package is larger than 100 MiB/);

    const many = Array.from({ length: 3 }, (_, i) =>
      tarEntry({ path: `f${i}`, body: Buffer.alloc(40 * MIB) }),
    );
    await refuses(inspect(packageOf(many)), /unpacked package is larger than 100 MiB/);
  },
);

sizes('refuses more than 10,000 entries', async () => {
  const entries = (count: number) => Array.from({ length: count }, (_, i) => tarEntry({ path: `f${i}` }));

  assert.ok(await inspect(packageOf(entries(9_999))));
  await refuses(inspect(packageOf(entries(10_000))), /more than 10000 entries/);
});

sizes('refuses an app.yaml of more than 1 MiB without reading it', async () => {
  const bytes = packageOf([], tarEntry({ path: 'app.yaml', body: randomBytes(MIB + 1) }));
  const { stream, total } = countBytes(bytes);

  await refuses(inspect(bytes, { body: stream }), /app\.yaml is larger than 1 MiB/);

  assert.ok(total() < bytes.length / 2);
});

sizes('refuses an archive with a reported size over 100 MiB without reading it', async () => {
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

/** An endless gzip stream: its header, then empty deflate blocks. */
const endlessGzip = function* (count: () => void) {
  yield Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
  const blocks = Buffer.concat(Array.from({ length: 13_000 }, () => Buffer.from([0, 0, 0, 0xff, 0xff])));
  for (;;) {
    count();
    yield blocks;
  }
};

sizes('stops reading after 100 MiB, independent of the reported size', async () => {
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

sizes('stops unpacking after 100 MiB of headers, which no entry declares', async () => {
  const headers = Buffer.concat(
    Array.from({ length: 1000 }, () => paxHeader({ comment: 'x'.repeat(60_000) })),
  );
  const bomb = gzipSync(Buffer.concat([headers, headers]));
  const start = gzipSync(Buffer.concat([manifestEntry(), headers]));

  const started = process.memoryUsage().rss;
  await refuses(inspect(Buffer.concat([start, bomb])), /unpacked package is larger than 100 MiB/);

  assert.ok(process.memoryUsage().rss - started < 60 * MIB);
});

sizes('stops unpacking zeros after the end of the archive', async () => {
  const zeros = gzipSync(Buffer.alloc(50 * MIB));
  const bytes = Buffer.concat([packageOf(), zeros, zeros, zeros, zeros]);
  const { stream, total } = countBytes(bytes);

  await refuses(inspect(bytes, { body: stream }), /unpacked package is larger than 100 MiB/);

  assert.ok(total() < bytes.length * 0.75, `${total()} of ${bytes.length}`);
});

sizes.run();
