import { fieldErrors } from '@steward/client';

/** One person to invite. */
export type InviteRow = {
  key: number;
  email: string;
  firstName: string;
  lastName: string;
  /** Ids of apps; names that are not those of an app of the client stay as they were entered. */
  apps: string[];
  isDemo: boolean;
  /** Messages by field of the API. */
  errors: Partial<Record<string, string>>;
  /** Of a file. */
  line?: number;
  /** Whether the service has checked the row as it is now. */
  isChecked: boolean;
};

/** What an import or the form says about one person. */
export type NewRow = Omit<InviteRow, 'key' | 'isChecked'>;

let lastKey = 0;

const addressOf = ({ email }: Pick<InviteRow, 'email'>): string => email.trim().toLowerCase();

export const hasErrors = ({ errors }: InviteRow): boolean => Object.keys(errors).length > 0;

/** Rows that were kept in the browser's history, with keys that no other row has. */
export const restored = (rows: readonly InviteRow[]): InviteRow[] =>
  rows.map((row) => {
    lastKey += 1;
    return { ...row, key: lastKey };
  });

/** What became of the rows that were added. */
export type Added = {
  rows: InviteRow[];
  added: number;
  /** Rows for an address that was in the list. */
  updated: number;
  /** Rows of the file before that the new one does not have. */
  removed: InviteRow[];
  /** Addresses that were left out: typed ones in the list, or the same as a row before. */
  repeated: string[];
};

/**
 * Adds people. A file replaces the rows of the file before, so that a corrected file can be added again. A typed address does not
 * replace the row for the same address: it would replace the apps there by those chosen for new people.
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
  row.isDemo === other.isDemo && row.apps.join() === other.apps.join();

type Change = Partial<Pick<InviteRow, 'email' | 'firstName' | 'lastName' | 'apps' | 'isDemo'>>;

/** Changes a row. What was wrong with the changed fields is unknown until the service has checked it again. */
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

/** Ids of apps. The service would say of other names only that they are no ids. */
const APP_ID = /^[a-z\d]{8}$/i;

const appErrors = ({ apps }: InviteRow): NewRow['errors'] => {
  const unknown = apps.filter((app) => !APP_ID.test(app));
  return unknown.length > 0 ? { initial_apps: `This client has no app ${unknown.join(', ')}.` } : {};
};

const TWICE = 'This address is in the list twice.';

/** A row may occur only once since another one was changed or removed. */
export const recheckTwice = (rows: readonly InviteRow[]): InviteRow[] =>
  rows.map((row) => (row.errors.email === TWICE ? { ...row, isChecked: false } : row));

/** What the console itself finds. The service would refer to addresses that occur twice by their index. */
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
 * Marks the rows that were sent as checked, with the errors of a refused request and those that the console has found. Rows that
 * were changed since then stay unchecked.
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

/** Rows with errors come first; the order stays otherwise. */
export const withErrorsFirst = (rows: readonly InviteRow[]): InviteRow[] =>
  rows.toSorted((a, b) => Number(hasErrors(b)) - Number(hasErrors(a)));
