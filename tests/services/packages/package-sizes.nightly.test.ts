import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inspect, packageOf, refuses, tarEntry } from '../../support/packages.ts';

const MIB = 1024 ** 2;

const sizes = suite('inspectPackage: size limits');

sizes('refuses more than 10,000 entries', async () => {
  const entries = (count: number) => Array.from({ length: count }, (_, i) => tarEntry({ path: `f${i}` }));

  assert.ok(await inspect(packageOf(entries(9_999))));
  await refuses(inspect(packageOf(entries(10_000))), /more than 10000 entries/);
});

sizes('refuses an app.yaml of more than 1 MiB', async () => {
  const manifest = tarEntry({ path: 'app.yaml', body: randomBytes(MIB + 1) });

  await refuses(inspect(packageOf([], manifest)), /app\.yaml is larger than 1 MiB/);
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

sizes.run();
