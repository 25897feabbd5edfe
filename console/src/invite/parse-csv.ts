import { CsvError, parse } from 'csv-parse/browser/esm/sync';
import type { NewRow } from './invite-rows.ts';
import { splitName } from './parse-addresses.ts';

/** The fields of an invitation, without free-form data. Also `name`, for lists that do not split names. */
const COLUMNS = ['email', 'first_name', 'last_name', 'name', 'apps', 'is_demo_user'];
const DELIMITERS = [',', ';', '\t'];

type Known = { id: string; slug: string; label: string };
export type ImportedCsv = { rows: NewRow[]; ignored: string[] };

/** A file that cannot be read, with advice. */
export class UnreadableCsv extends Error {
  override readonly name = 'UnreadableCsv';
}

/**
 * The text of a file in UTF-8 or, with a byte order mark, UTF-16. Excel's plain CSV uses the code page of the machine, which the file does
 * not state: a guess would corrupt names.
 * @throws UnreadableCsv
 */
export const decodeCsv = (bytes: ArrayBuffer): string => {
  const [first, second] = new Uint8Array(bytes, 0, Math.min(2, bytes.byteLength));
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const encoding = isUtf16 ? (first === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new UnreadableCsv('The file is not in UTF-8. Save it as “CSV UTF-8”, and choose it again.');
  }
};

/**
 * Reads people from CSV with commas, semicolons or tabs, whichever is most frequent in the header. Apps are given by label, slug or id,
 * separated by commas, semicolons or spaces. Empty cells leave to the form what people get.
 * @throws UnreadableCsv
 */
export const parseCsv = (text: string, apps: readonly Known[]): ImportedCsv => {
  const [header, ...records] = readRecords(text);
  const columns = header?.record.map((name) => name.toLowerCase().replaceAll(/[\s-]+/g, '_')) ?? [];
  if (!columns.includes('email'))
    throw new UnreadableCsv(
      'The first line must name the columns: email, and optionally first_name, last_name, apps and is_demo_user.',
    );
  const appOf = appFinder(apps);
  const rows = records.map(({ record, info }): NewRow => {
    const cell = (column: string): string => record[columns.indexOf(column)] ?? '';
    const names = namesIn(cell('apps'), appOf);
    const flag = cell('is_demo_user').toLowerCase();
    return {
      email: cell('email'),
      ...namesOf(cell),
      apps: names.length === 0 ? null : names.map((name) => appOf(name) ?? name),
      isDemo: flag === '' ? null : flag === 'true',
      errors: {
        ...appErrors(
          names.filter((name) => appOf(name) === undefined),
          record.slice(columns.length).some(Boolean),
        ),
        ...(!FLAGS.includes(flag) && { is_demo_user: 'Must be "true" or "false".' }),
      },
      line: info.lines,
    };
  });
  return { rows, ignored: columns.filter((column) => column !== '' && !COLUMNS.includes(column)) };
};

const namesOf = (cell: (column: string) => string) => {
  const whole = splitName(cell('name'));
  return { firstName: cell('first_name') || whole.firstName, lastName: cell('last_name') || whole.lastName };
};

const FLAGS = ['', 'true', 'false'];

type AppFinder = (name: string) => string | undefined;

/** Finds the id of an app. Slugs come before labels, which may not be unique. */
const appFinder = (apps: readonly Known[]): AppFinder => {
  const ids = new Map<string, string>();
  for (const { id, label } of apps) ids.set(label.toLowerCase(), id);
  for (const { id, slug } of apps) ids.set(slug.toLowerCase(), id);
  for (const { id } of apps) ids.set(id.toLowerCase(), id);
  return (name) => ids.get(name.toLowerCase());
};

/**
 * Labels may contain separators: a cell that is a label as a whole is not split, nor is a part between commas that is a label. A part in
 * which no word is an app counts as one name, for example of an app of another client.
 */
const namesIn = (cell: string, appOf: AppFinder): string[] => {
  const isApp = (text: string): boolean => appOf(text) !== undefined;
  const split = (text: string, separator: RegExp): string[] =>
    isApp(text) ? [text] : text.split(separator).filter(Boolean);
  return split(cell, /\s*[,;]\s*/).flatMap((part) => {
    const words = split(part, /\s+/);
    return words.some(isApp) ? words : [part];
  });
};

/** Surplus cells usually come from a list of apps without quotes. */
const appErrors = (unknown: readonly string[], hasSurplus: boolean): NewRow['errors'] => {
  if (hasSurplus)
    return {
      initial_apps: 'The line has more cells than the header. Quote cells that contain a comma.',
    };
  return unknown.length > 0 ? { initial_apps: `This client has no app ${unknown.join(', ')}.` } : {};
};

/** Column names contain no delimiter. */
const delimiterOf = (text: string): string => {
  const [header = ''] = text.trimStart().split(/[\r\n]/, 1);
  const countOf = (delimiter: string): number => header.split(delimiter).length;
  return DELIMITERS.reduce((best, delimiter) => (countOf(delimiter) > countOf(best) ? delimiter : best));
};

type CsvRecord = { record: string[]; info: { lines: number } };

const readRecords = (text: string): CsvRecord[] => {
  try {
    return parse(text, {
      bom: true,
      info: true,
      delimiter: delimiterOf(text),
      trim: true,
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      // The declared type lacks the fields that `info` adds.
    }) as unknown as CsvRecord[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new UnreadableCsv(`The file is not valid CSV: ${error.message}`, { cause: error });
  }
};
