import { fieldErrors } from '@steward/client';

/** One person to invite. */
export type InviteRow = {
  key: number;
  email: string;
  firstName: string;
  lastName: string;
  /** Ids of apps. Names that match no app of the client stay as entered. Null: the apps that the form gives to all. */
  apps: string[] | null;
  /** Null: as the form says for all. */
  isDemo: boolean | null;
  /** Messages by field of the API. */
  errors: Partial<Record<string, string>>;
  /** The line of the file. */
  line?: number;
  /** Whether the service has checked the row in its present state. */
  isChecked: boolean;
};

/** The data about one person from an import or the form. */
export type NewRow = Omit<InviteRow, 'key' | 'isChecked'>;

let lastKey = 0;

const addressOf = ({ email }: Pick<InviteRow, 'email'>): string => email.trim().toLowerCase();

export const hasErrors = ({ errors }: InviteRow): boolean => Object.keys(errors).length > 0;

/** Rows that were kept in the browser's history, with new unique keys. */
export const restored = (rows: readonly InviteRow[]): InviteRow[] =>
  rows.map((row) => {
    lastKey += 1;
    return { ...row, key: lastKey };
  });

/** The outcome of adding rows. */
export type Added = {
  rows: InviteRow[];
  added: number;
  /** Rows for an address that was in the list. */
  updated: number;
  /** Rows of the previous file that the new one lacks. */
  removed: InviteRow[];
  /** Addresses that were skipped: typed ones that are already in the list, or repeated ones. */
  repeated: string[];
};

/**
 * Adds people. A file replaces the rows of the previous file, so that a corrected file can be added again. A typed address does not replace
 * the row with the same address: that would lose its own apps.
 */
export const addRows = (rows: readonly InviteRow[], added: readonly NewRow[]): Added => {
  const byAddress = new Map(rows.map((row) => [addressOf(row), row.key]));
  const handled = new Map<string, NewRow>();
  const replaced = new Map<number, NewRow>();
  const appended: InviteRow[] = [];
  const repeated: string[] = [];
  for (const row of added) {
    const address = addressOf(row);
    const known = byAddress.get(address);
    const first = address === '' ? undefined : handled.get(address);
    const isKnown = !first && address !== '' && known !== undefined;
    if (first && isSameExceptLine(first, row)) repeated.push(address);
    else if (isKnown && row.line === undefined) repeated.push(address);
    else if (isKnown) replaced.set(known, row);
    else {
      lastKey += 1;
      appended.push({ ...row, key: lastKey, isChecked: false });
    }
    if (!first) handled.set(address, row);
  }
  const isFile = added.some(({ line }) => line !== undefined);
  const removed = isFile ? rows.filter(({ key, line }) => line !== undefined && !replaced.has(key)) : [];
  const kept = rows
    .filter((row) => !removed.includes(row))
    .map((row) => {
      const replacement = replaced.get(row.key);
      return replacement ? { ...replacement, key: row.key, isChecked: false } : row;
    });
  const counts = { added: appended.length, updated: replaced.size };
  return { rows: [...kept, ...appended], ...counts, removed, repeated };
};

const isSameExceptLine = (row: NewRow, other: NewRow): boolean =>
  row.isDemo === other.isDemo && row.apps?.join() === other.apps?.join();

type Change = Partial<Pick<InviteRow, 'email' | 'firstName' | 'lastName' | 'apps' | 'isDemo'>>;

/** Changes a row. Clears errors of the changed fields, until the service has checked the row again. */
export const changed = (row: InviteRow, change: Change): InviteRow => {
  const { email, first_name, last_name, initial_apps, is_demo_user, ...others } = row.errors;
  const errors = {
    ...(change.email === undefined && email !== undefined && { email }),
    ...(change.firstName === undefined && first_name !== undefined && { first_name }),
    ...(change.lastName === undefined && last_name !== undefined && { last_name }),
    ...(change.apps === undefined && initial_apps !== undefined && { initial_apps }),
    ...(change.isDemo === undefined && is_demo_user !== undefined && { is_demo_user }),
    ...others,
  };
  return { ...row, ...change, errors, isChecked: false };
};

export const changeRow = (rows: readonly InviteRow[], key: number, change: Change): InviteRow[] =>
  rows.map((row) => (row.key === key ? changed(row, change) : row));

/** Ids of apps. For other names, the service would only report that they are no ids. */
const APP_ID = /^[a-z\d]{8}$/i;

const appErrors = ({ apps }: InviteRow): NewRow['errors'] => {
  const unknown = apps?.filter((app) => !APP_ID.test(app)) ?? [];
  return unknown.length > 0 ? { initial_apps: `This client has no app ${unknown.join(', ')}.` } : {};
};

const TWICE = 'This address is in the list twice.';

/** After another row was changed or removed, a row may no longer be a duplicate. */
export const recheckTwice = (rows: readonly InviteRow[]): InviteRow[] =>
  rows.map((row) => (row.errors.email === TWICE ? { ...row, isChecked: false } : row));

/** Errors that the console finds itself. The service would identify repeated addresses by their index. */
const ownErrors = (rows: readonly InviteRow[]): NewRow['errors'][] => {
  const seen = new Set<string>();
  return rows.map((row) => {
    const { email: _email, ...others } = row.errors;
    const errors = { ...appErrors(row), ...others };
    const address = addressOf(row);
    const isKnown = seen.has(address);
    seen.add(address);
    if (address === '') return { ...errors, email: 'The address is missing.' };
    return isKnown ? { ...errors, email: TWICE } : errors;
  });
};

/**
 * Marks the sent rows as checked, with the errors of a refused request and the errors found by the console. Rows that were changed since
 * then stay unchecked.
 */
export const markChecked = (
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
  const unchanged = new Set(sent);
  const own = ownErrors(rows);
  return rows.map((row, index) =>
    unchanged.has(row) ? { ...row, errors: { ...byKey.get(row.key), ...own[index] }, isChecked: true } : row,
  );
};

/** Rows with errors first; otherwise in the same order. */
export const withErrorsFirst = (rows: readonly InviteRow[]): InviteRow[] =>
  rows.toSorted((a, b) => Number(hasErrors(b)) - Number(hasErrors(a)));
