import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { manifestEntry, packageOf, paxHeader, refuses, tarEntry } from '../../support/build-package.ts';
import { inspect } from '../../support/inspected-package.ts';

const MIB = 1024 ** 2;
const GIB_IN_MIB = 1024;
/** What the streams take and leave to be collected, however long the package is. Keeping it would take 100 and more. */
const FLAT_BYTES = 90 * MIB;

const bombs = suite('inspectPackage of bombs');

/** A package that ends in a gigabyte of the same MiB, made as it is read; tells how much of it was. */
const bombOf = (beginning: Buffer, repeatedMiB: Buffer) => {
  const repeated = gzipSync(repeatedMiB);
  const seen = { pieces: 0, peakBytes: 0 };
  const pieces = function* () {
    yield gzipSync(beginning);
    for (; seen.pieces < GIB_IN_MIB; seen.pieces += 1) {
      seen.peakBytes = Math.max(seen.peakBytes, process.memoryUsage().rss);
      yield repeated;
    }
  };
  return { body: Readable.from(pieces()), sizeBytes: 2 * MIB, seen };
};

const defused = async (bomb: ReturnType<typeof bombOf>, maxPieces: number): Promise<void> => {
  const before = process.memoryUsage().rss;

  await refuses(inspect(packageOf(), bomb), /unpacked package is larger than 100 MiB/);

  assert.ok(bomb.body.destroyed);
  assert.ok(bomb.seen.pieces <= maxPieces, `read ${bomb.seen.pieces} MiB of ${GIB_IN_MIB}`);
  const grownMiB = Math.round((bomb.seen.peakBytes - before) / MIB);
  assert.ok(grownMiB < FLAT_BYTES / MIB, `took ${grownMiB} MiB of memory`);
};

/** Pieces that wait before zlib when the refusal comes: they are small, and 64 KiB of them are read ahead. */
const UNDER_WAY = 80;

bombs('refuses a file of a gigabyte by its header, before it is unpacked', () => {
  const header = tarEntry({ path: 'zeros', size: GIB_IN_MIB * MIB });

  return defused(bombOf(Buffer.concat([manifestEntry(), header]), Buffer.alloc(MIB)), UNDER_WAY);
});

bombs('stops at 100 MiB of a gigabyte of zeros behind the end, which no header tells of', () =>
  defused(bombOf(Buffer.concat([manifestEntry(), Buffer.alloc(1024)]), Buffer.alloc(MIB)), 100 + UNDER_WAY),
);

bombs('stops at 100 MiB of a gigabyte of headers', () => {
  const headers = Buffer.concat(Array.from({ length: 17 }, () => paxHeader({ comment: 'x'.repeat(60_000) })));

  return defused(bombOf(manifestEntry(), headers), 100 + UNDER_WAY);
});

bombs.run();
