import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';

export const COLUMNS = ['email', 'client', 'apps', 'is_demo_user', 'extra'] as const;
export type Column = (typeof COLUMNS)[number];

/** The name that REST has for `apps`. */
const REST_NAME = 'initial_apps';

export const MAX_ROWS = 100_000;

/** One row of the file: trimmed texts, empty where the file has no value. */
export type CsvRow = { line: number; cells: Record<Column, string> };

/**
 * An error in a line, or in the file from that line on; `field` is the column as the file names it, and empty if it concerns no
 * single field.
 */
export type CsvFault = { line: number; email: string; field: string; message: string };

/**
 * Reads a CSV file of invitations and reports all errors in its structure. Values are validated elsewhere. Rows with
 * structural errors are not among `rows`.
 * @returns also the name that the file has for a column
 */
export const readInvitationCsv = async (bytes: AsyncIterable<Uint8Array>) => {
  const rows: CsvRow[] = [];
  const faults: CsvFault[] = [];
  let header: string[] | undefined;
  let names: string[] = [];
  let read = 0;

  const take = (fields: string[], line: number): void => {
    if (!header) {
      names = fields.map((name) => name.trim().toLowerCase());
      while (names.at(-1) === '') names.pop();
      header = names.map((name) => (name === REST_NAME ? 'apps' : name));
      faults.push(...headerFaults(header, line));
      if (faults.length > 0) throw new Stop();
      return;
    }
    read += 1;
    if (read > MAX_ROWS) throw new UnreadableCsv(line, `The file has more than ${MAX_ROWS} rows.`);
    const row = { line, cells: cellsOf(header, fields) };
    const wrong = formFaults(row, header, fields);
    if (wrong.length > 0) faults.push(...wrong);
    else rows.push(row);
  };

  await readCsvRecords(bytes, take).catch((error: unknown) => {
    if (error instanceof Stop) return;
    if (!(error instanceof UnreadableCsv)) throw error;
    const message = `${error.message} The rest of the file was not read.`;
    faults.push({ line: error.line, email: '', field: '', message });
  });
  if (!header && faults.length === 0) faults.push(...headerFaults([], 1));
  const nameOf = (column: string): string => names[header?.indexOf(column) ?? -1] ?? column;
  return { rows, faults: faults.map((fault) => ({ ...fault, field: nameOf(fault.field) })), nameOf };
};

/** Stops reading: without valid columns the rows cannot be read. */
class Stop extends Error {}

/** Unknown columns are errors: a misspelt one would otherwise be ignored in thousands of rows. */
const headerFaults = (header: string[], line: number): CsvFault[] => {
  const fault = (field: string, message: string): CsvFault => ({ line, email: '', field, message });
  const isKnown = (name: string) => COLUMNS.some((column) => column === name);
  const known = `${COLUMNS.join(', ')}; ${REST_NAME} for apps`;
  return [
    ...(header.includes('email') ? [] : [fault('email', 'This column is missing.')]),
    ...header
      .filter((name) => !isKnown(name))
      .map((name) => fault(name, `Unknown column. Known columns: ${known}.`)),
    ...COLUMNS.filter((column) => header.indexOf(column) !== header.lastIndexOf(column)).map((column) =>
      fault(
        column,
        column === 'apps'
          ? `This column appears twice: ${REST_NAME} is the same.`
          : 'This column appears twice.',
      ),
    ),
  ];
};

const cellsOf = (header: string[], fields: string[]): Record<Column, string> => {
  const cell = (column: Column): string => fields[header.indexOf(column)]?.trim() ?? '';
  return {
    email: cell('email'),
    client: cell('client'),
    apps: cell('apps'),
    is_demo_user: cell('is_demo_user'),
    extra: cell('extra'),
  };
};

/** Decoding replaces invalid UTF-8 with this character. */
const REPLACEMENT = '\ufffd';

const formFaults = ({ line, cells }: CsvRow, header: string[], fields: string[]): CsvFault[] => {
  const fault = (field: string, message: string): CsvFault => ({ line, email: cells.email, field, message });
  const surplus = fields.slice(header.length).some((field) => field.trim() !== '');
  return [
    ...(surplus
      ? [fault('', 'The line has more fields than the header. Quote fields that contain a delimiter.')]
      : []),
    ...COLUMNS.filter((column) => cells[column].includes(REPLACEMENT)).map((column) =>
      fault(column, 'Contains bytes that are not UTF-8. Save the file as CSV in UTF-8.'),
    ),
  ];
};

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
