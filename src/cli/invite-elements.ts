import { z } from 'zod';
import { AppIds, Extra, NewEmail } from '../../routers/schemas/fields.ts';
import { normalizeEmail } from '../lib/email-address.ts';
import type { FieldErrors } from '../lib/problems.ts';
import type { CsvRow } from '../services/invitations/invitation-csv.ts';
import type { InvitationElement } from '../services/invitations/invite.ts';

/** Maps ids and slugs of apps to ids. */
export type AppNames = ReadonlyMap<string, string>;

/** Groups rows by address; within an address, by line. */
export const sortByEmail = (rows: readonly CsvRow[]): CsvRow[] =>
  rows
    .map((row) => ({ row, address: addressOf(row) }))
    .sort((a, b) => (a.address === b.address ? a.row.line - b.row.line : a.address < b.address ? -1 : 1))
    .map(({ row }) => row);

/**
 * Validates rows in the order of their addresses, with the schemas and messages of the API. The valid fields of a row with
 * errors are kept, so that the service can report further errors.
 */
export const createElementReader = (client: number, apps: AppNames) => {
  let first: CsvRow | undefined;

  return (row: CsvRow): InvitationElement => {
    const faults: FieldErrors = {};
    const email = validate(faults, 'email', NewEmail, row.cells.email || undefined);
    const item = {
      client,
      initial_apps: readApps(faults, row.cells.apps, apps),
      is_demo_user: validate(faults, 'is_demo_user', DemoFlag, row.cells.is_demo_user.toLowerCase()),
      extra: readExtra(faults, row.cells.extra),
    };
    // Files for the REST interface name the client in each row.
    if (row.cells.client !== '' && row.cells.client !== String(client))
      faults.client = [`Must be ${client}, the client of --client, or empty.`];
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

/** Lower-cased before: spreadsheets write TRUE. */
const DemoFlag = z
  .enum(['true', 'false', ''], 'Must be "true" or "false".')
  .transform((text) => (text === '' ? undefined : text === 'true'));

const validate = <T>(faults: FieldErrors, column: string, schema: z.ZodType<T>, input: unknown) => {
  const { success, data, error } = schema.safeParse(input);
  if (!success) faults[column] = error.issues.map(({ message }) => message);
  return data;
};

/** The service's limit per element. */
const MAX_UNKNOWN_APPS = 10;

const readApps = (faults: FieldErrors, cell: string, apps: AppNames): string[] => {
  // Also a JSON array, as in CSV lists of invitations.
  const names = cell.split(/[\s,;"[\]]+/).filter(Boolean);
  const unknown = names.filter((name) => !apps.has(name)).slice(0, MAX_UNKNOWN_APPS);
  if (unknown.length > 0) faults.apps = unknown.map((name) => `This client has no app ${name}.`);
  const ids = names.flatMap((name) => apps.get(name) ?? []);
  return validate(faults, 'apps', AppIds, ids) ?? [];
};

const readExtra = (faults: FieldErrors, cell: string): Record<string, unknown> | undefined => {
  if (cell === '') return undefined;
  try {
    return validate(faults, 'extra', Extra, JSON.parse(cell));
  } catch (_invalidJson) {
    faults.extra = ['Must be a JSON object, such as {"team": "sales"}.'];
    return undefined;
  }
};
