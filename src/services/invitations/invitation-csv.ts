import { CsvError, parse } from 'csv-parse/sync';

export const COLUMNS = [
  'email',
  'first_name',
  'last_name',
  'client',
  'apps',
  'is_demo_user',
  'extra',
] as const;
export type Column = (typeof COLUMNS)[number];

const REST_NAME = 'initial_apps';

export const MAX_ROWS = 100_000;

/** One row of the file: trimmed texts, empty where the file has no value. */
export type CsvRow = { line: number; cells: Record<Column, string> };

/**
 * An error in a line, or in the file from that line on; `field` is the name of the column in the file, or empty if the error concerns no
 * single field.
 */
export type CsvFault = { line: number; email: string; field: string; message: string };

/**
 * Reads a CSV file of invitations and reports all structural errors. Values are validated elsewhere. Rows with structural errors are not in
 * `rows`.
 * @returns also the names of the columns in the file
 */
export const readInvitationCsv = async (bytes: AsyncIterable<Uint8Array>) => {
  const { records, unreadable } = readCsvRecords(Buffer.concat(await Array.fromAsync(bytes)));
  const [first, ...others] = records;
  const names = first?.fields.map((name) => name.trim().toLowerCase()) ?? [];
  while (names.at(-1) === '') names.pop();
  const header = names.map((name) => (name === REST_NAME ? 'apps' : name));
  const faults = first || !unreadable ? headerFaults(header, first?.line ?? 1) : [];

  const rows: CsvRow[] = [];
  const isReadable = faults.length === 0;
  for (const { line, fields } of isReadable ? others.slice(0, MAX_ROWS) : []) {
    const row = { line, cells: cellsOf(header, fields) };
    const wrong = formFaults(row, header, fields);
    if (wrong.length > 0) faults.push(...wrong);
    else rows.push(row);
  }
  const surplus = others[MAX_ROWS];
  const end = surplus ? { ...surplus, message: `The file has more than ${MAX_ROWS} rows.` } : unreadable;
  if (isReadable && end) {
    const message = `${end.message} The rest of the file was not read.`;
    faults.push({ line: end.line, email: '', field: '', message });
  }
  const nameOf = (column: string): string => names[header.indexOf(column)] ?? column;
  return { rows, faults: faults.map((fault) => ({ ...fault, field: nameOf(fault.field) })), nameOf };
};

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
      fault(column, `This column appears twice${column === 'apps' ? `: ${REST_NAME} is the same` : ''}.`),
    ),
  ];
};

/** All columns are given, which the type of the entries does not say. */
const cellsOf = (header: string[], fields: string[]) =>
  Object.fromEntries(
    COLUMNS.map((column) => [column, fields[header.indexOf(column)]?.trim() ?? '']),
  ) as CsvRow['cells'];

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
/** Eight times the limit of free-form data. Keeps an unclosed quote from consuming the whole file. */
const MAX_RECORD_CHARS = 512 * 1024;

type CsvRecord = { fields: string[]; line: number };

/**
 * Reads CSV in UTF-8, with or without a byte order mark, with any line endings. Detects the delimiter from the header.
 * @returns the records that are not empty, each with the line on which it starts, from 1; and the reason if the rest is unreadable
 */
export const readCsvRecords = (file: Buffer) => {
  const records: CsvRecord[] = [];
  let line = 1;
  if (/^(\xff\xfe|\xfe\xff)/.test(file.toString('latin1', 0, 2)))
    return { records, unreadable: { line, message: 'The file is in UTF-16. Save it as CSV in UTF-8.' } };
  try {
    parse(file, {
      delimiter: delimiterOf(file),
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      // Also trims a byte order mark.
      trim: true,
      max_record_size: MAX_RECORD_CHARS,
      // Collects the records here, because the parser's result is lost when it fails.
      on_record: (fields: string[]) => {
        if (fields.some((field) => field.trim() !== '')) records.push({ fields, line });
        line += 1 + fields.reduce((sum, field) => sum + lineBreaksIn(field), 0);
        return null;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { records, unreadable: { line, message: REASONS[error.code] ?? error.message } };
  }
  return { records, unreadable: undefined };
};

const MISPLACED = 'A quote is in the middle of a field. Quote the whole field, and double the quotes in it.';

const REASONS: Partial<Record<CsvError['code'], string>> = {
  INVALID_OPENING_QUOTE: MISPLACED,
  CSV_INVALID_CLOSING_QUOTE: MISPLACED,
  CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE: MISPLACED,
  CSV_QUOTE_NOT_CLOSED: 'A quoted field starts here and is never closed.',
  CSV_MAX_RECORD_SIZE: 'The line is too long. A quote may be missing.',
};

/** The most frequent delimiter in the first line that is not blank. Column names contain none. */
const delimiterOf = (file: Buffer): string => {
  const [header = ''] = file
    .toString('latin1')
    .trimStart()
    .split(/[\r\n]/, 1);
  const countOf = (delimiter: string) => header.split(delimiter).length;
  return DELIMITERS.reduce((best, delimiter) => (countOf(delimiter) > countOf(best) ? delimiter : best));
};

const lineBreaksIn = (field: string): number => field.match(/\r\n|\r|\n/g)?.length ?? 0;
