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

/** Adds people whose addresses are not in the list yet. */
export const addRows = (rows: readonly InviteRow[], added: readonly NewRow[]): InviteRow[] => {
  const known = new Set(rows.map(addressOf));
  const result = [...rows];
  for (const row of added) {
    if (row.email !== '' && known.has(addressOf(row))) continue;
    known.add(addressOf(row));
    lastKey += 1;
    result.push({ ...row, key: lastKey });
  }
  return result;
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

/** Marks addresses that occur twice. The service would refer to them by their index. */
export const markDuplicates = (rows: readonly InviteRow[]): InviteRow[] => {
  const seen = new Set<string>();
  return rows.map((row) => {
    const address = addressOf(row);
    const isKnown = seen.has(address);
    seen.add(address);
    return isKnown ? { ...row, errors: { ...row.errors, email: 'This address is in the list twice.' } } : row;
  });
};

/** Shows the errors of a refused request in its rows. */
export const markErrors = (rows: readonly InviteRow[], error: unknown): InviteRow[] => {
  const byIndex = new Map<number, Record<string, string>>();
  for (const [path, messages] of Object.entries(fieldErrors(error))) {
    const [, index, field] = /^items\.(\d+)\.([a-z_]+)/.exec(path) ?? [];
    if (index === undefined || field === undefined) continue;
    const errors = byIndex.get(Number(index)) ?? {};
    errors[field] = [errors[field], ...messages].filter(Boolean).join(' ');
    byIndex.set(Number(index), errors);
  }
  return rows.map((row, index) => ({ ...row, errors: byIndex.get(index) ?? {} }));
};

/** Rows with errors come first; the order stays otherwise. */
export const withErrorsFirst = (rows: readonly InviteRow[]): InviteRow[] =>
  rows.toSorted((a, b) => Number(hasErrors(b)) - Number(hasErrors(a)));
