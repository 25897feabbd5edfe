import { fieldErrors } from '@steward/client';

/** One person to invite. */
export type InviteRow = {
  key: number;
  email: string;
  /** Ids of apps; names that are not those of an app of the client stay as they were entered. */
  apps: string[];
  isDemo: boolean;
  /** Messages by field of the API. */
  errors: Partial<Record<string, string>>;
};

/** What an import or the form says about one person. */
export type NewRow = Omit<InviteRow, 'key'>;

let lastKey = 0;

const addressOf = ({ email }: Pick<InviteRow, 'email'>): string => email.trim().toLowerCase();

export const hasErrors = ({ errors }: InviteRow): boolean => Object.keys(errors).length > 0;

/** What became of the rows that were added. */
export type Added = {
  rows: InviteRow[];
  added: number;
  /** Rows for an address that was in the list. */
  updated: number;
  /** Addresses that occur again among those added. Their first row counts. */
  repeated: string[];
};

/** Adds people. A row for an address in the list replaces the one there, so that a corrected file can be added again. */
export const addRows = (rows: readonly InviteRow[], added: readonly NewRow[]): Added => {
  const byAddress = new Map(rows.map((row) => [addressOf(row), row.key]));
  const handled = new Set<string>();
  const replaced = new Map<number, NewRow>();
  const appended: InviteRow[] = [];
  const repeated: string[] = [];
  for (const row of added) {
    const address = addressOf(row);
    const known = address === '' ? undefined : byAddress.get(address);
    if (address !== '' && handled.has(address)) repeated.push(address);
    else if (known !== undefined) replaced.set(known, row);
    else {
      lastKey += 1;
      appended.push({ ...row, key: lastKey });
    }
    handled.add(address);
  }
  const kept = rows.map((row) => ({ ...row, ...replaced.get(row.key) }));
  return { rows: [...kept, ...appended], added: appended.length, updated: replaced.size, repeated };
};

/** Changes a row. What was wrong with the changed fields counts as fixed until the service has checked it again. */
export const changeRow = (
  rows: readonly InviteRow[],
  key: number,
  change: Partial<Pick<InviteRow, 'email' | 'apps' | 'isDemo'>>,
): InviteRow[] =>
  rows.map((row) => {
    if (row.key !== key) return row;
    const { email, initial_apps, is_demo_user, ...others } = row.errors;
    const errors = {
      ...(change.email === undefined && email !== undefined && { email }),
      ...(change.apps === undefined && initial_apps !== undefined && { initial_apps }),
      ...(change.isDemo === undefined && is_demo_user !== undefined && { is_demo_user }),
      ...others,
    };
    return { ...row, ...change, errors };
  });

/** Marks addresses that occur twice. The service would refer to them by their index. Earlier errors of addresses are left out. */
export const markDuplicates = (rows: readonly InviteRow[]): InviteRow[] => {
  const seen = new Set<string>();
  return rows.map((row) => {
    const { email: _email, ...errors } = row.errors;
    const address = addressOf(row);
    const isKnown = address !== '' && seen.has(address);
    seen.add(address);
    return { ...row, errors: isKnown ? { ...errors, email: 'This address is in the list twice.' } : errors };
  });
};

/** Shows the errors of a refused request in the rows that were sent, beside those that the console has found. */
export const markErrors = (
  rows: readonly InviteRow[],
  sent: readonly InviteRow[],
  error: unknown,
): InviteRow[] => {
  const byKey = new Map<number, Record<string, string>>();
  for (const [path, messages] of Object.entries(fieldErrors(error))) {
    const [, index, field] = /^items\.(\d+)\.([a-z_]+)/.exec(path) ?? [];
    const key = sent[Number(index)]?.key;
    if (key === undefined || field === undefined) continue;
    const errors = byKey.get(key) ?? {};
    errors[field] = [errors[field], ...messages].filter(Boolean).join(' ');
    byKey.set(key, errors);
  }
  return rows.map((row) => ({ ...row, errors: { ...byKey.get(row.key), ...row.errors } }));
};

/** Rows with errors come first; the order stays otherwise. */
export const withErrorsFirst = (rows: readonly InviteRow[]): InviteRow[] =>
  rows.toSorted((a, b) => Number(hasErrors(b)) - Number(hasErrors(a)));
