import { readCsvRecords, UnreadableCsv } from './csv-records.ts';

export const COLUMNS = ['email', 'apps', 'is_demo_user', 'extra'] as const;
export type Column = (typeof COLUMNS)[number];

export const MAX_ROWS = 100_000;

/** One person to invite, as the file has it: texts, trimmed, and empty where the file says nothing. */
export type CsvRow = { line: number; cells: Record<Column, string> };

/** What is wrong with a line, or with the whole file from that line on; `field` is empty where it is no one field. */
export type CsvFault = { line: number; email: string; field: string; message: string };

/**
 * Reads a CSV file of invitations, and every fault in its form. What the cells say is judged elsewhere. Rows that
 * cannot be told apart into columns are among the faults only.
 */
export const readInvitationCsv = async (
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ rows: CsvRow[]; faults: CsvFault[] }> => {
  const rows: CsvRow[] = [];
  const faults: CsvFault[] = [];
  let header: string[] | undefined;
  let read = 0;

  const take = (fields: string[], line: number): void => {
    if (!header) {
      header = fields.map((name) => name.trim().toLowerCase());
      while (header.at(-1) === '') header.pop();
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
    const message = `${error.message} Nothing was read from here on.`;
    faults.push({ line: error.line, email: '', field: '', message });
  });
  if (!header && faults.length === 0) faults.push(...headerFaults([], 1));
  return { rows, faults };
};

/** Ends the reading: without its columns, the rest of the file means nothing. */
class Stop extends Error {}

/** A misspelt column would otherwise be a column left out, of thousands of people. */
const headerFaults = (header: string[], line: number): CsvFault[] => {
  const fault = (field: string, message: string): CsvFault => ({ line, email: '', field, message });
  const isKnown = (name: string) => COLUMNS.some((column) => column === name);
  const known = COLUMNS.join(', ');
  return [
    ...(header.includes('email') ? [] : [fault('email', 'This column is missing.')]),
    ...header
      .filter((name) => !isKnown(name))
      .map((name) => fault(name, `Unknown column. Known are ${known}.`)),
    ...COLUMNS.filter((column) => header.indexOf(column) !== header.lastIndexOf(column)).map((column) =>
      fault(column, 'This column is there twice.'),
    ),
  ];
};

const cellsOf = (header: string[], fields: string[]): Record<Column, string> => {
  const cell = (column: Column): string => fields[header.indexOf(column)]?.trim() ?? '';
  return {
    email: cell('email'),
    apps: cell('apps'),
    is_demo_user: cell('is_demo_user'),
    extra: cell('extra'),
  };
};

/** What decoding puts in the place of bytes that are no UTF-8. */
const REPLACEMENT = '\ufffd';

const formFaults = ({ line, cells }: CsvRow, header: string[], fields: string[]): CsvFault[] => {
  const fault = (field: string, message: string): CsvFault => ({ line, email: cells.email, field, message });
  const surplus = fields.slice(header.length).some((field) => field.trim() !== '');
  return [
    ...(surplus
      ? [fault('', 'The line has more fields than the header: quote those that hold a delimiter.')]
      : []),
    ...COLUMNS.filter((column) => cells[column].includes(REPLACEMENT)).map((column) =>
      fault(column, 'Holds bytes that are no UTF-8: save the file as CSV in UTF-8.'),
    ),
  ];
};
