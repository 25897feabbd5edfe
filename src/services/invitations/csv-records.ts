import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';

/** Commas (RFC 4180), semicolons (locales with decimal commas) and tabs (copied from spreadsheets). */
const DELIMITERS = [',', ';', '\t'];
const MAX_HEADER_BYTES = 64 * 1024;
/** Eight times the limit of free-form data. Keeps an unclosed quote from consuming the whole file. */
const MAX_RECORD_CHARS = 512 * 1024;

/** The file is unreadable from this line on; lines count from 1. */
export class UnreadableCsv extends Error {
  override readonly name = 'UnreadableCsv';
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/**
 * Reads CSV in UTF-8, with or without a byte order mark, with any line endings. Detects the delimiter from the header. Calls
 * `take` with each record that is not empty and the line on which it starts.
 * @throws UnreadableCsv, and errors of `take`
 */
export const readCsvRecords = async (
  bytes: AsyncIterable<Uint8Array>,
  take: (fields: string[], line: number) => void,
): Promise<void> => {
  const { head, all } = await peekHeader(bytes);
  let line = 1;
  const parser = parse({
    delimiter: delimiterOf(head),
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    // Also trims a byte order mark.
    trim: true,
    max_record_size: MAX_RECORD_CHARS,
    // Not from the stream: it drops buffered records when the parser fails.
    on_record: (fields) => {
      const start = line;
      line += 1 + fields.reduce((sum, field) => sum + lineBreaksIn(field), 0);
      if (fields.some((field) => field.trim() !== '')) take(fields, start);
      return null;
    },
  });
  await pipeline(all, parser.resume()).catch((error: unknown) => {
    throw error instanceof CsvError ? new UnreadableCsv(line, REASONS[error.code] ?? error.message) : error;
  });
};

const MISPLACED = 'A quote is in the middle of a field. Quote the whole field, and double the quotes in it.';

const REASONS: Partial<Record<CsvError['code'], string>> = {
  INVALID_OPENING_QUOTE: MISPLACED,
  CSV_INVALID_CLOSING_QUOTE: MISPLACED,
  CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE: MISPLACED,
  CSV_QUOTE_NOT_CLOSED: 'A quoted field starts here and is never closed.',
  CSV_MAX_RECORD_SIZE: 'The line is too long. A quote may be missing.',
};

/** Reads at least the header ahead. `all` is the whole stream, including the header. */
const peekHeader = async (bytes: AsyncIterable<Uint8Array>) => {
  const iterator = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (headerLine(head) === undefined && head.length < MAX_HEADER_BYTES) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const all = async function* () {
    try {
      if (isUtf16(head)) throw new UnreadableCsv(1, 'The file is in UTF-16. Save it as CSV in UTF-8.');
      yield head;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  };
  return { head, all };
};

/** The first line that is not blank; undefined until its end was read. */
const headerLine = (head: Buffer): string | undefined => {
  const text = head.toString('latin1').trimStart();
  const end = text.search(/[\r\n]/);
  return end < 0 ? undefined : text.slice(0, end);
};

/** The most frequent delimiter in the header. Column names contain none. */
const delimiterOf = (head: Buffer): string => {
  const header = headerLine(head) ?? head.toString('latin1');
  const countOf = (delimiter: string) => header.split(delimiter).length;
  return DELIMITERS.reduce((best, delimiter) => (countOf(delimiter) > countOf(best) ? delimiter : best));
};

const isUtf16 = (head: Buffer): boolean => /^(\xff\xfe|\xfe\xff)/.test(head.toString('latin1', 0, 2));

const lineBreaksIn = (field: string): number => field.match(/\r\n|\r|\n/g)?.length ?? 0;
