import { Readable } from 'node:stream';
import { z } from 'zod';
import { csvLine, csvText } from '../../src/lib/csv-line.ts';
import type { Download } from '../../src/lib/download.ts';
import type { UserRow } from '../../src/services/users/user-rows.ts';
import { UserOutput, userOutput } from './users.ts';

const COLUMNS = UserOutput.keyof().options;
type Column = (typeof COLUMNS)[number];
type TableUser = Partial<z.output<typeof UserOutput>>;

/** Names of fields of users, separated by commas; by default all. */
export const TableColumns = z
  .string()
  .default(COLUMNS.join(','))
  .transform((names) => names.split(','))
  .pipe(z.array(UserOutput.keyof()));

/** Pages of users with the chosen columns; a file for REST. */
export const TableOutput = z
  .custom<AsyncIterable<TableUser[]> | Download>()
  // Only REST sets `isDownload` and gets a file.
  .transform((pages) => pages as AsyncIterable<TableUser[]>);

export async function* tablePages(
  pages: AsyncIterable<UserRow[]>,
  columns: readonly Column[],
  baseUrl: string,
): AsyncGenerator<TableUser[]> {
  for await (const rows of pages)
    yield rows.map((row) => {
      const user: TableUser = userOutput(row, baseUrl);
      return Object.fromEntries(columns.map((column) => [column, user[column]]));
    });
}

export const csvOf = (pages: AsyncIterable<TableUser[]>, columns: readonly Column[]): Readable =>
  Readable.from(linesOf(pages, columns), { objectMode: false });

async function* linesOf(pages: AsyncIterable<TableUser[]>, columns: readonly Column[]) {
  yield csvLine(columns);
  for await (const users of pages)
    yield users.map((user) => csvLine(columns.map((column) => csvText(user[column])))).join('');
}
