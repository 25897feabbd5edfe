import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inspect, manifestEntry, packageOf, paxHeader, refuses } from '../../support/packages.ts';

const inspection = suite('inspectPackage');

const MIB = 1024 ** 2;

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

inspection('bombs: stops after 100 MiB of 1 GiB of zeros after the end, which no header declares', () =>
  defused(bombOf(Buffer.concat([manifestEntry(), Buffer.alloc(1024)]), Buffer.alloc(MIB)), 100 + UNDER_WAY),
);

inspection('bombs: stops after 100 MiB of 1 GiB of headers', () => {
  const headers = Buffer.concat(Array.from({ length: 17 }, () => paxHeader({ comment: 'x'.repeat(60_000) })));

  return defused(bombOf(manifestEntry(), headers), 100 + UNDER_WAY);
});

inspection.run();
