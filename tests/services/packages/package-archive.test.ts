import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import { END, inspect, manifestEntry, packageOf, refuses, tarEntry } from '../../support/packages.ts';

const archives = suite('inspectPackage: broken archives');

archives('refuses a broken header', async () => {
  const entry = tarEntry({ path: 'a', body: 'x' });
  entry.write('7', 100);

  await refuses(inspect(packageOf([entry])), /not a sound tar archive/);
});

archives('refuses data that is not gzip', async () => {
  await refuses(inspect(Buffer.from('not an archive')), /not a whole gzip archive/);
  await refuses(inspect(Buffer.concat([manifestEntry(), END])), /not a whole gzip archive/);
  await refuses(inspect(Buffer.alloc(0)), /not a whole gzip archive/);
});

archives('refuses an archive truncated at any offset', async () => {
  const bytes = packageOf([tarEntry({ path: 'a', body: randomBytes(3000) })]);

  for (let length = 1; length < bytes.length; length += 97) {
    await refuses(inspect(bytes.subarray(0, length)), /not a whole gzip archive/);
  }
});

archives('refuses a truncated tar stream inside complete gzip', async () => {
  const tar = Buffer.concat([manifestEntry(), tarEntry({ path: 'a', body: 'x'.repeat(2000) }), END]);

  for (const length of [1024, 1500, 2048, tar.length - 1024, tar.length - 512]) {
    await refuses(inspect(gzipSync(tar.subarray(0, length))), /ends in the middle/);
  }
});

archives('refuses data after the end of the tar stream or the gzip', async () => {
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

archives('refuses zeros after the end of the gzip also if the store sends each byte alone', async () => {
  const bytes = Buffer.concat([packageOf(), Buffer.alloc(20)]);
  const body = Readable.from(Array.from(bytes, (byte) => Buffer.from([byte])));

  await refuses(inspect(bytes, { body }), /something after its end/);
});

archives('refuses a package that was compressed twice, whose inner layer would bypass the limits', () =>
  refuses(inspect(gzipSync(packageOf([tarEntry({ path: 'a', body: randomBytes(2000) })]))), /packed twice/),
);

archives.run();
