import { isJsonObject } from '../../lib/json-value.ts';
import type { FieldErrors } from '../../lib/problems.ts';
import { hasCredentialLine, isAscii, isCredentialName, readableName } from './credential-names.ts';

/** What surrounds a value: lists may name headers in a request alone, and texts among its headers alone. */
type Context = 'data' | 'request' | 'headers';

const REQUEST = /^[\s_.-]*(?:http[\s_.-]*)?req(?:uest)?[\s_.-]*$/i;
const HEADERS = /^[\s_.-]*(?:(?:raw|request|http)[\s_.-]*)?(?:headers?|meta)[\s_.-]*$/i;

/** More than anybody mends at once. */
const MAX_FAULTS = 20;
const MAX_NAME_LENGTH = 64;
export const NO_CREDENTIALS = 'Must not be logged: it is a credential.';
const NO_LOOKALIKES = 'Must be ASCII: other letters may look like a credential.';

/** Keys by the path of what holds them. */
const DOCUMENTED: Record<string, string> = { extra: 'request', 'extra.request': 'META' };

type Found = { path: string; reason: string };
/** What was found; and `request.META`, which has been judged. */
type Search = { found: Found[]; meta: unknown };

/**
 * Where free-form data carries what would log somebody in, or null: by the keys of objects at any depth, and within a
 * request also by the names in lists and texts of headers. Its depth must be bounded already, and `request.META` judged.
 */
export const credentialFaults = (extra: Record<string, unknown>): FieldErrors | null => {
  const found: Found[] = [];
  const meta = isJsonObject(extra.request) ? extra.request.META : undefined;
  searchRecord(extra, 'data', 'extra', { found, meta });
  return found.length > 0 ? Object.fromEntries(found.map(({ path, reason }) => [path, [reason]])) : null;
};

const searchValue = (value: unknown, place: Context, path: string, search: Search): void => {
  if (value === search.meta || search.found.length >= MAX_FAULTS) return;
  if (typeof value === 'string') {
    if (place === 'headers' && hasCredentialLine(value)) search.found.push({ path, reason: NO_CREDENTIALS });
  } else if (Array.isArray(value)) searchList(value, place, path, search);
  else if (isJsonObject(value)) searchRecord(value, place, path, search);
};

const searchRecord = (
  record: Record<string, unknown>,
  place: Context,
  path: string,
  search: Search,
): void => {
  for (const key in record) {
    if (search.found.length >= MAX_FAULTS) return;
    const child = record[key];
    const reason = reasonAgainst(key, place);
    if (reason !== null) search.found.push({ path: pathOf(path, key), reason });
    // A text without a colon holds no line of a header.
    else if (typeof child === 'string' ? child.includes(':') : typeof child === 'object') {
      const spelling = spellingOf(key, path);
      if (spelling !== null)
        search.found.push({ path: pathOf(path, key), reason: `Must be spelt ${spelling}.` });
      searchValue(child, contextIn(place, key), pathOf(path, key), search);
    }
  }
};

/** Pairs of name and value, names and values in turn, or lines of both. */
const searchList = (list: readonly unknown[], place: Context, path: string, search: Search): void => {
  const hasNames = place === 'headers' || (place === 'request' && list.length === 2);
  for (const [index, child] of list.entries()) {
    const isName = hasNames && index % 2 === 0 && typeof child === 'string';
    const reason = isName ? reasonAgainst(nameOf(child), place) : null;
    if (reason !== null) search.found.push({ path: `${path}.${index}`, reason });
    else if (typeof child === 'object' || place === 'headers')
      searchValue(child, place, `${path}.${index}`, search);
  }
};

const reasonAgainst = (name: string, place: Context): string | null => {
  if (isCredentialName(name, place !== 'data')) return NO_CREDENTIALS;
  return place === 'headers' && !isAscii(name) ? NO_LOOKALIKES : null;
};

const contextIn = (place: Context, key: string): Context => {
  if (place === 'headers') return place;
  const name = readableName(key);
  if (HEADERS.test(name)) return 'headers';
  return REQUEST.test(name) ? 'request' : place;
};

/** How a key is documented that a reader takes for it: what is left out of `request.META` must not be kept beside it. */
const spellingOf = (key: string, path: string): string | null => {
  const documented = DOCUMENTED[path];
  return documented === undefined || key === documented || !isRead(key, documented) ? null : documented;
};

const isRead = (key: string, documented: string): boolean =>
  readableName(key).trim().toLowerCase() === documented.toLowerCase();

/** What stands before the value in a line of a header: that itself must not be told in a fault. */
const nameOf = (line: string): string => line.split(':', 1)[0] ?? '';

export const pathOf = (path: string, key: string): string =>
  `${path}.${nameOf(key).slice(0, MAX_NAME_LENGTH)}`;
