import { z } from 'zod';
import { AppIds, Email, Extra } from '../../routers/schemas/fields.ts';
import { normalizeEmail } from '../lib/email-address.ts';
import type { FieldErrors } from '../lib/problems.ts';
import type { InvitationElement } from '../services/invitations/invitation-checks.ts';
import type { CsvRow } from '../services/invitations/invitation-csv.ts';

/** What a cell may call an app, its id or its slug → its id. */
export type AppNames = ReadonlyMap<string, string>;

/** Those of one address stand together, the upper line first. */
export const sortByEmail = (rows: readonly CsvRow[]): CsvRow[] =>
  rows
    .map((row) => ({ row, address: addressOf(row) }))
    .sort((a, b) => (a.address === b.address ? a.row.line - b.row.line : a.address < b.address ? -1 : 1))
    .map(({ row }) => row);

/**
 * Reads rows, one after the other in the order of their addresses, as the API reads elements: by the same schemas,
 * in the same words. What is right in a row with faults is kept, so that the service can add what else is wrong.
 */
export const createElementReader = (client: number, apps: AppNames) => {
  let first: CsvRow | undefined;

  return (row: CsvRow): InvitationElement => {
    const faults: FieldErrors = {};
    const email = judge(faults, 'email', Email, row.cells.email || undefined);
    const item = {
      client,
      initial_apps: readApps(faults, row.cells.apps, apps),
      is_demo_user: judge(faults, 'is_demo_user', DemoFlag, row.cells.is_demo_user.toLowerCase()),
      extra: readExtra(faults, row.cells.extra),
    };
    if (email === undefined) return { value: null, faults };

    if (first && addressOf(first) === email) {
      return {
        value: null,
        faults: { ...faults, email: [`Line ${first.line} already invites this address.`] },
      };
    }
    first = row;
    return { value: { ...item, email }, faults };
  };
};

const addressOf = (row: CsvRow): string => normalizeEmail(row.cells.email);

/** Spreadsheets write it in capitals. */
const DemoFlag = z
  .enum(['true', 'false', ''], 'Must be "true" or "false".')
  .transform((text) => (text === '' ? undefined : text === 'true'));

const judge = <T>(
  faults: FieldErrors,
  column: string,
  schema: z.ZodType<T>,
  input: unknown,
): T | undefined => {
  const { success, data, error } = schema.safeParse(input);
  if (!success) faults[column] = error.issues.map(({ message }) => message);
  return data;
};

/** As many as the service tells of one element. */
const MAX_UNKNOWN_APPS = 10;

const readApps = (faults: FieldErrors, cell: string, apps: AppNames): string[] => {
  const names = cell.split(/[\s;]+/).filter(Boolean);
  const unknown = names.filter((name) => !apps.has(name)).slice(0, MAX_UNKNOWN_APPS);
  if (unknown.length > 0) faults.apps = unknown.map((name) => `This client has no app ${name}.`);
  const ids = names.flatMap((name) => apps.get(name) ?? []);
  return judge(faults, 'apps', AppIds, ids) ?? [];
};

const readExtra = (faults: FieldErrors, cell: string): Record<string, unknown> | undefined => {
  if (cell === '') return undefined;
  try {
    return judge(faults, 'extra', Extra, JSON.parse(cell));
  } catch (_noJson) {
    faults.extra = ['Must be an object in JSON, such as {"team": "sales"}.'];
    return undefined;
  }
};
