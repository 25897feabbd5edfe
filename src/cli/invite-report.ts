import { writeFile } from 'node:fs/promises';
import { csvLine } from '../lib/csv-line.ts';
import { COLUMNS, type CsvFault } from '../services/invitations/invitation-csv.ts';

/** Enough to see what is wrong; the rest is for the file. */
const SHOWN_FAULTS = 20;
/** Cells and messages that quote them may be as long as a whole file. */
const MAX_CELL_CHARS = 500;
const MAX_SHOWN_CHARS = 120;

const PLACES: readonly string[] = COLUMNS;

/** Line by line, and within a line as the columns are told. */
export const sortByLine = (faults: readonly CsvFault[]): CsvFault[] => {
  const place = ({ field }: CsvFault) => PLACES.indexOf(field);
  return faults.toSorted((a, b) => a.line - b.line || place(a) - place(b));
};

/** Writes every fault, as CSV, into a file for its owner's eyes only: it holds addresses. An older one is replaced. */
export const writeReport = (path: string, faults: readonly CsvFault[]): Promise<void> =>
  writeFile(path, reportLines(faults), { mode: 0o600 });

const reportLines = function* (faults: readonly CsvFault[]) {
  yield csvLine(['line', 'email', 'field', 'message']);
  for (const { line, email, field, message } of faults) {
    yield csvLine([String(line), ...[email, field, message].map((cell) => clip(cell, MAX_CELL_CHARS))]);
  }
};

/** The first faults, a line each, for a terminal. */
export const summarizeErrors = (faults: readonly CsvFault[]): string[] => [
  ...faults.slice(0, SHOWN_FAULTS).map(({ line, email, field, message }) =>
    [`line ${line}`, email, field, message]
      .filter((part) => part !== '')
      .map(printable)
      .join(': '),
  ),
  ...(faults.length > SHOWN_FAULTS ? [`… and ${faults.length - SHOWN_FAULTS} more.`] : []),
];

/** What somebody put into a file must not steer the terminal that shows it, nor turn its text around. */
export const printable = (text: string): string =>
  clip(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd'), MAX_SHOWN_CHARS);

const clip = (text: string, maxChars: number): string =>
  text.length > maxChars ? `${text.slice(0, maxChars).toWellFormed()}…` : text;
