import { readCsvRecords, UnreadableCsv } from './csv-records.ts';

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
