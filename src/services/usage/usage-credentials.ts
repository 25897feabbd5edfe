import { isJsonObject } from '../../lib/json-value.ts';
import type { FieldErrors } from '../../lib/problems.ts';
import { hasCredentialLine, isAscii, isCredentialName, readableName } from './credential-names.ts';

/** Where a value is: lists can name headers only in a request, and strings only among its headers. */
type Context = 'data' | 'request' | 'headers';

const REQUEST = /^[\s_.-]*(?:http[\s_.-]*)?req(?:uest)?[\s_.-]*$/i;
const HEADERS = /^[\s_.-]*(?:(?:raw|request|http)[\s_.-]*)?(?:headers?|meta)[\s_.-]*$/i;

/** Per entry; bounds the size of the response. */
export const MAX_FAULTS = 20;
const MAX_NAME_LENGTH = 64;
export const NO_CREDENTIALS = 'Must not be logged: it is a credential.';
const NO_LOOKALIKES = 'Must be ASCII: other letters may look like a credential.';

/** Documented keys by the path of their object. */
const DOCUMENTED: Record<string, string> = { extra: 'request', 'extra.request': 'META' };

type Found = { path: string; reason: string };
/** The faults, and `request.META`, which is validated already. */
type Search = { found: Found[]; meta: unknown };

/**
 * Finds credentials in free-form data: by the keys of objects at any depth, and within a request also by the names in lists
 * and strings of headers. Returns null without findings. The depth must be bounded, and `request.META` validated.
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

const searchRecord = (record: Record<string, unknown>, place: Context, path: string, search: Search) => {
  for (const key in record) {
    if (search.found.length >= MAX_FAULTS) return;
    const child = record[key];
    const reason = reasonAgainst(key, place);
    if (reason !== null) search.found.push({ path: pathOf(path, key), reason });
    // A string without a colon has no header line.
    else if (typeof child === 'string' ? child.includes(':') : typeof child === 'object') {
      const spelling = spellingOf(key, path);
      if (spelling !== null)
        search.found.push({ path: pathOf(path, key), reason: `Must be spelt ${spelling}.` });
      searchValue(child, contextIn(place, key), pathOf(path, key), search);
    }
  }
};

/** Pairs of name and value, alternating names and values, or header lines. */
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

/** The documented spelling of a key that looks like it, so that a second `request.META` cannot bypass the first. */
const spellingOf = (key: string, path: string): string | null => {
  const documented = DOCUMENTED[path];
  if (documented === undefined || key === documented) return null;
  return readableName(key).trim().toLowerCase() === documented.toLowerCase() ? documented : null;
};

/** The name in a header line. Errors must not contain the value. */
const nameOf = (line: string): string => line.split(':', 1)[0] ?? '';

export const pathOf = (path: string, key: string): string =>
  `${path}.${nameOf(key).slice(0, MAX_NAME_LENGTH)}`;
