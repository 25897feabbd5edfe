import { writeFile } from 'node:fs/promises';
import { csvLine } from '../lib/csv-line.ts';
import { COLUMNS, type CsvFault } from '../services/invitations/invitation-csv.ts';

/** Errors printed to the terminal. */
const MAX_PRINTED_ERRORS = 20;
/** Cells, and messages that quote them, have no limit. */
const MAX_CELL_CHARS = 500;
const MAX_SHOWN_CHARS = 120;

const COLUMN_ORDER: readonly string[] = COLUMNS;

/** Sorts by line, then by column. */
export const sortByLine = (faults: readonly CsvFault[]): CsvFault[] => {
  const columnOf = ({ field }: CsvFault) => COLUMN_ORDER.indexOf(field);
  return faults.toSorted((a, b) => a.line - b.line || columnOf(a) - columnOf(b));
};

/** Writes all errors as CSV. Replaces an existing file; only the owner can read it, because it contains addresses. */
export const writeReport = (path: string, faults: readonly CsvFault[]): Promise<void> =>
  writeFile(path, reportLines(faults), { mode: 0o600 });

const reportLines = function* (faults: readonly CsvFault[]) {
  yield csvLine(['line', 'email', 'field', 'message']);
  for (const { line, email, field, message } of faults) {
    yield csvLine([String(line), ...[email, field, message].map((cell) => clip(cell, MAX_CELL_CHARS))]);
  }
};

/** One line for each of the first errors. */
export const summarizeErrors = (faults: readonly CsvFault[]): string[] => [
  ...faults.slice(0, MAX_PRINTED_ERRORS).map(({ line, email, field, message }) =>
    [`line ${line}`, email, field, message]
      .filter((part) => part !== '')
      .map(printable)
      .join(': '),
  ),
  ...(faults.length > MAX_PRINTED_ERRORS ? [`… and ${faults.length - MAX_PRINTED_ERRORS} more.`] : []),
];

/** Replaces control and bidirectional characters, which could manipulate the terminal. */
export const printable = (text: string): string =>
  clip(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd'), MAX_SHOWN_CHARS);

const clip = (text: string, maxChars: number): string =>
  text.length > maxChars ? `${text.slice(0, maxChars).toWellFormed()}…` : text;
