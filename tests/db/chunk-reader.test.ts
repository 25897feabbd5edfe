import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RawRow } from '../../src/db/json-stream/binary-row-reader.ts';
import { MOST_ROWS, type Place, type Reading, readPieces } from '../../src/db/json-stream/chunk-reader.ts';
import type { JsonChunk } from '../../src/db/json-stream/json-stream.ts';
import type { ReadRows } from '../../src/db/row-cursor.ts';

const pieces = suite('pieces of a list');

const TOTAL = 5_000;
/** Numbers behind one, as a server would answer them: lot by lot, up to the limit of the statement. */
const rowsBehind =
  (total: number): ReadRows =>
  async ({ parameters: [after] }, { wanted, onRow }) => {
    const end = Math.min(total, Number(after) + MOST_ROWS);
    let next = Number(after) + 1;
    for (let count = wanted(); count > 0; count = wanted()) {
      for (; count > 0 && next <= end; count -= 1) {
        const row = new RawRow();
        row.from = next;
        onRow(row);
        next += 1;
      }
      if (next > end) return true;
    }
    return false;
  };
const readingOf = (bytesOf: (n: number) => number): Reading<number> => ({
  statement: (after = 0) => ({ sql: '', parameters: [after] }),
  write: ({ from: n }, out) => {
    out.ascii(`"${`${n}`.padEnd(bytesOf(n), 'x')}"`);
    return n;
  },
});

const intoArray = (all: JsonChunk[]) => ({
  add: (piece: JsonChunk) => void all.push(piece),
  isReadOn: () => true,
});

const readAll = async (reading: Reading<number>, total: number): Promise<JsonChunk[]> => {
  const all: JsonChunk[] = [];
  let place: Place<number> = { after: undefined, rowBytes: undefined };
  for (;;) {
    const end = await readPieces(rowsBehind(total), reading, place, intoArray(all));
    if (end.isOver) return all;
    place = end;
  }
};
const numbersOf = (all: readonly JsonChunk[]): number[] =>
  JSON.parse(Buffer.concat(all.map(({ text }) => text)).toString()).map((text: string) =>
    Number.parseInt(text, 10),
  );
const upTo = (total: number): number[] => Array.from({ length: total }, (_, index) => index + 1);

for (const [name, bytesOf] of Object.entries({
  small: () => 4,
  usual: () => 500,
  'of all sizes': (n: number) => (n % 97) ** 2,
})) {
  pieces(`hold each row once and in order: rows that are ${name}`, async () => {
    for (const total of [0, 1, MOST_ROWS, TOTAL]) {
      const all = await readAll(readingOf(bytesOf), total);

      assert.equal(numbersOf(all), upTo(total));
      assert.equal(
        all.map(({ isLast }) => isLast),
        all.map((_, index) => index === all.length - 1),
      );
    }
  });
}

pieces('are no larger than what is written in one turn, give or take a row', async () => {
  const sizes = (
    await readAll(
      readingOf(() => 500),
      TOTAL,
    )
  ).map(({ text }) => text.length);

  assert.ok(sizes.length > TOTAL / 500);
  assert.ok(Math.max(...sizes) <= 241 * 1024);
});

pieces('that are released have their memory used again, and no others', async () => {
  const [first, second] = await readAll(
    readingOf(() => 500),
    TOTAL,
  );
  const before = `${second?.text}`;
  first?.release();
  first?.release();
  const later = await readAll(
    readingOf(() => 500),
    TOTAL,
  );

  assert.is(later.filter(({ text }) => text.buffer === first?.text.buffer).length, 1);
  assert.is(`${second?.text}`, before);
});

pieces('that outgrow their room are whole', async () => {
  const all = await readAll(
    readingOf(() => 64 * 1024),
    150,
  );

  assert.equal(numbersOf(all), upTo(150));
});

pieces('of an outdated reading are not passed on, and it goes on where the last one ended', async () => {
  const all: JsonChunk[] = [];
  let outdatedAt = 700;
  const reading: Reading<number> = { ...readingOf(() => 500), isOutdated: () => isOutdated };
  let isOutdated = false;
  const { write } = reading;
  reading.write = (row, out) => {
    if (row.from === outdatedAt) isOutdated = true;
    return write(row, out);
  };
  let place: Place<number> = { after: undefined, rowBytes: undefined };
  for (let isOver = false; !isOver; ) {
    const end = await readPieces(rowsBehind(TOTAL), reading, place, intoArray(all));
    if (isOutdated) assert.ok((end.after ?? 0) < outdatedAt);
    if (isOutdated) outdatedAt = 0;
    isOutdated = false;
    ({ isOver } = end);
    place = end;
  }

  assert.is(outdatedAt, 0);
  assert.equal(numbersOf(all), upTo(TOTAL));
});

pieces('are no more than one of a statement where there is no room for another', async () => {
  const all: JsonChunk[] = [];
  let place: Place<number> = { after: undefined, rowBytes: undefined };
  for (let isOver = false; !isOver; ) {
    const before = all.length;
    const queue = { ...intoArray(all), isReadOn: () => false };
    const end = await readPieces(
      rowsBehind(TOTAL),
      readingOf(() => 500),
      place,
      queue,
    );
    assert.ok(all.length <= before + 1);
    isOver = end.isOver;
    place = end;
  }

  assert.equal(numbersOf(all), upTo(TOTAL));
});

pieces.run();
