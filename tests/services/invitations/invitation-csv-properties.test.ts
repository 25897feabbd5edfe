import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { csvLine } from '../../../src/lib/csv-line.ts';
import {
  COLUMNS,
  readCsvRecords,
  readInvitationCsv,
} from '../../../src/services/invitations/invitation-csv.ts';
import { anyCharacter } from '../../support/any-character.ts';

const inPieces = async function* (bytes: Buffer, pieceBytes: number) {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
};

const linesIn = (text: string): number => text.split(/\r\n|\r|\n/).length;

/** Text with many characters that are special in CSV. */
const cell = fc
  .oneof(
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: fc.constantFrom('"', ',', ';', '\t', '\r', '\n', ' ', '\ufeff', 'a', '=', 'é') }),
  )
  .filter((text) => text.isWellFormed() && !text.includes('\ufffd'));

const table = fc.record({
  columns: fc.shuffledSubarray([...COLUMNS], { minLength: 2 }).filter((names) => names.includes('email')),
  cells: fc.array(fc.array(cell, { minLength: COLUMNS.length, maxLength: COLUMNS.length })),
  delimiter: fc.constantFrom(',', ';', '\t'),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  mark: fc.constantFrom('', '\ufeff'),
  quoteAll: fc.boolean(),
  pieceBytes: fc.integer({ min: 1, max: 50 }),
});

const csv = suite('reading CSV');

csv('turns any bytes into rows or errors, each with its line', async () => {
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    cell.map((text) => Buffer.from(`email,extra\n${text}`)),
  );
  await fc.assert(
    fc.asyncProperty(anything, fc.integer({ min: 1, max: 50 }), async (bytes, pieceBytes) => {
      const { rows, faults } = await readInvitationCsv(inPieces(bytes, pieceBytes));

      const last = linesIn(bytes.toString('latin1'));
      const lines = [...rows, ...faults].map(({ line }) => line);
      assert.ok(
        lines.every((line) => line >= 1 && line <= last),
        `${lines} of ${last}`,
      );
      assert.equal(
        rows.map(({ line }) => line),
        [...new Set(rows.map(({ line }) => line))].sort((a, b) => a - b),
      );
    }),
    { seed: 1, numRuns: 300 },
  );
});

csv('reads back written rows, with their first lines', async () => {
  await fc.assert(
    fc.asyncProperty(table, async ({ columns, cells, delimiter, lineEnd, mark, quoteAll, pieceBytes }) => {
      const written = (text: string): string =>
        quoteAll || /^\s|\s$|[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      const expected: unknown[] = [];
      let file = `${mark}${columns.join(delimiter)}${lineEnd}`;
      for (const row of cells.map((all) => all.slice(0, columns.length))) {
        const line = linesIn(file);
        file += `${row.map(written).join(delimiter)}${lineEnd}`;
        const entries = columns.map((column, index) => [column, row[index]?.trim() ?? ''] as const);
        if (entries.some(([, text]) => text !== '')) expected.push({ line, ...Object.fromEntries(entries) });
      }

      const { rows, faults } = await readInvitationCsv(inPieces(Buffer.from(file), pieceBytes));

      assert.equal(faults, []);
      const read = rows.map((row) => ({
        line: row.line,
        ...Object.fromEntries(columns.map((column) => [column, row.cells[column]])),
      }));
      assert.equal(read, expected);
    }),
    { seed: 1, numRuns: 200 },
  );
});

/** Without the apostrophes that make text of formulas. */
const original = (text: string): string => text.replaceAll(/(^|;)'/g, '$1').trim();

csv('finds no formula in the output of csvLine, and the same text without apostrophes', () => {
  fc.assert(
    fc.property(fc.array(cell, { minLength: 2, maxLength: 4 }), (cells) => {
      const file = csvLine(['line', 'email']) + csvLine(['2', ...cells]);

      const { records } = readCsvRecords(Buffer.from(file));

      const [, ...read] = records[1]?.fields ?? [];
      assert.not.ok(read.some((text) => /^[\t\r\n]|(^|;)\s*[=+\-@＝＋－＠]/u.test(text)));
      assert.equal(read.map(original), cells.map(original));
    }),
    { seed: 1, numRuns: 200 },
  );
});

csv.run();
