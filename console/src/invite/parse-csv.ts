import { CsvError, parse } from 'csv-parse/browser/esm/sync';
import type { NewRow } from './invite-rows.ts';

/** The columns of `steward invite`, without free-form data. */
const COLUMNS = ['email', 'apps', 'is_demo_user'];
const DELIMITERS = [',', ';', '\t'];

type Known = { id: string; slug: string };
export type ImportedCsv = { rows: NewRow[]; ignored: string[] };
type Defaults = Pick<NewRow, 'apps' | 'isDemo'>;

/** A file that cannot be read, with what to do about it. */
export class UnreadableCsv extends Error {
  override readonly name = 'UnreadableCsv';
}

/**
 * Reads people from CSV with commas, semicolons or tabs, whichever the header has most of. Apps are named by slug or id, between
 * spaces, commas or semicolons. Empty cells get the defaults.
 * @throws UnreadableCsv
 */
export const parseCsv = (text: string, apps: readonly Known[], defaults: Defaults): ImportedCsv => {
  const [header = [], ...records] = readRecords(text);
  const columns = header.map((name) => name.toLowerCase());
  if (!columns.includes('email'))
    throw new UnreadableCsv(
      'The first line must name the columns: email, and optionally apps and is_demo_user.',
    );
  const idOf = new Map([
    ...apps.map(({ id }) => [id, id] as const),
    ...apps.map(({ id, slug }) => [slug, id] as const),
  ]);
  const rows = records.map((record): NewRow => {
    const cell = (column: string): string => record[columns.indexOf(column)] ?? '';
    const names = cell('apps')
      .split(/[\s,;]+/)
      .filter(Boolean);
    const flag = cell('is_demo_user').toLowerCase();
    return {
      email: cell('email'),
      apps: names.length === 0 ? defaults.apps : names.map((name) => idOf.get(name) ?? name),
      isDemo: flag === '' ? defaults.isDemo : flag === 'true',
      errors: {
        ...appErrors(
          names.filter((name) => !idOf.has(name)),
          record.slice(columns.length).some(Boolean),
        ),
        ...(!FLAGS.includes(flag) && { is_demo_user: 'Must be "true" or "false".' }),
      },
    };
  });
  return { rows, ignored: columns.filter((column) => column !== '' && !COLUMNS.includes(column)) };
};

const FLAGS = ['', 'true', 'false'];

/** Surplus cells are a list of apps without quotes, as a rule. */
const appErrors = (unknown: readonly string[], hasSurplus: boolean): NewRow['errors'] => {
  if (hasSurplus)
    return {
      initial_apps: 'The line has more cells than the header. Quote cells that contain a comma.',
    };
  return unknown.length > 0 ? { initial_apps: `This client has no app ${unknown.join(', ')}.` } : {};
};

/** As `steward invite` detects it. Column names contain no delimiter. */
const delimiterOf = (text: string): string => {
  const [header = ''] = text.trimStart().split(/[\r\n]/, 1);
  const countOf = (delimiter: string): number => header.split(delimiter).length;
  return DELIMITERS.reduce((best, delimiter) => (countOf(delimiter) > countOf(best) ? delimiter : best));
};

const readRecords = (text: string): string[][] => {
  try {
    return parse(text, {
      bom: true,
      delimiter: delimiterOf(text),
      trim: true,
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new UnreadableCsv(`The file is not valid CSV: ${error.message}`, { cause: error });
  }
};
