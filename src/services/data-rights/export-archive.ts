import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { csvLine, csvText } from '../../lib/csv-line.ts';
import type { ExportRow } from './export-rows.ts';

type Pages = AsyncIterable<ExportRow[]>;

/** Reads a part; each call reads it again. */
export type OpenPart = () => Pages;

const README = (email: string, now: Date): string => `Data of ${email}, exported on ${now.toISOString()}.

Each part is a JSON file, an array of objects, and a CSV file with the same rows, for spreadsheets. In CSV, a text that a
spreadsheet would take for a formula starts with an apostrophe. Times are UTC.

Passwords, tokens, the secrets of sessions, and the links of mails are not part of the export.
`;

/**
 * A zip archive of the parts as JSON and as CSV. Each file is read when it is its turn, at the speed at which the archive is
 * read, so that any number of rows takes the memory of one page.
 */
export async function* zipParts(
  parts: ReadonlyMap<string, OpenPart>,
  { email, now }: { email: string; now: Date },
): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const { outputStream: output } = zip;
  // Its type leaves open that it can be destroyed.
  if (!(output instanceof Readable)) throw new TypeError('The output of yazl is a stream of Node.');
  let current: Readable | undefined;
  const add = (name: string, open: () => AsyncIterable<string>): void =>
    zip.addReadStreamLazy(name, { mtime: now }, (start) => {
      current = Readable.from(open());
      // yazl does not listen to it.
      current.on('error', (error) => output.destroy(error));
      start(null, current);
    });
  zip.on('error', (error: Error) => output.destroy(error));
  zip.addBuffer(Buffer.from(README(email, now)), 'README.txt', { mtime: now });
  for (const [name, open] of parts) {
    add(`${name}.json`, () => toJson(open()));
    add(`${name}.csv`, () => toCsv(open()));
  }
  zip.end();
  try {
    yield* output;
  } finally {
    // The reader may have left.
    current?.destroy();
  }
}

async function* toJson(pages: Pages): AsyncGenerator<string> {
  let prefix = '[\n';
  for await (const rows of pages) {
    if (rows.length === 0) continue;
    yield prefix + rows.map((row) => JSON.stringify(row)).join(',\n');
    prefix = ',\n';
  }
  yield prefix === '[\n' ? '[]\n' : '\n]\n';
}

/** Without rows, the file is empty. */
async function* toCsv(pages: Pages): AsyncGenerator<string> {
  let isFirst = true;
  for await (const rows of pages) {
    const lines = rows.map((row) => csvLine(Object.values(row).map(csvText)));
    if (isFirst && rows[0]) lines.unshift(csvLine(Object.keys(rows[0])));
    isFirst = false;
    yield lines.join('');
  }
}
