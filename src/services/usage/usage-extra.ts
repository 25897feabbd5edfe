import { isJsonObject, isStorableText, stringifyJsonValue } from '../../lib/json-value.ts';
import type { FieldErrors } from '../../lib/problems.ts';

const MAX_STACK_LENGTH = 255;

/** The documented keys of `request.META`. Others are not logged. */
const META_KEYS = new Set([
  ...['HTTP_USER_AGENT', 'SERVER_NAME', 'HTTP_REFERER', 'REMOTE_ADDR', 'CONTENT_TYPE', 'REQUEST_METHOD'],
  ...['HTTP_HOST', 'SERVER_PORT', 'QUERY_STRING', 'HTTP_ACCEPT_ENCODING'],
]);
/** In these, the values of secret parameters are masked: a platform cannot control which links users follow. */
const ADDRESS_KEYS = new Set(['HTTP_REFERER', 'QUERY_STRING']);

/** Per entry; bounds the size of the response. */
const MAX_FAULTS = 20;
const MAX_NAME_LENGTH = 64;
const NOT_AN_OBJECT = 'Must be an object.';
const NOT_A_SCALAR = 'Must be a text, a number, true, false or null.';
const NO_CREDENTIALS = 'Must not be logged: it is a credential.';
const NO_LOOKALIKES = 'Must be ASCII: other letters may look like a credential.';

type Extra = Record<string, unknown>;
type Fault = [path: string, reason: string];

/** `extra` as the log stores it: JSON text, and the stack of its totals. */
export type SanitizedExtra = { text: string; stack: string | null };

/**
 * Removes undocumented request metadata and secrets in addresses from the `extra` of an entry. Any other credential, which
 * readers of the log could use to act as the user, is an error, so that the sender learns about it.
 */
export const sanitizeExtra = (value: unknown): { kept: SanitizedExtra } | { faults: FieldErrors } => {
  if (!isJsonObject(value)) return { faults: { extra: [NOT_AN_OBJECT] } };
  const requestFaults = reportOf(findRequestFaults(value.request));
  if (requestFaults) return { faults: requestFaults };
  const extra = withCleanRequest(value);
  const json = stringifyJsonValue(extra);
  if ('reason' in json) return { faults: { extra: [json.reason] } };
  const faults = reportOf(findCredentials(extra));
  return faults ? { faults } : { kept: { text: json.text, stack: stackOf(value) } };
};

const reportOf = (found: Iterable<Fault>): FieldErrors | null => {
  const faults = new Map<string, string[]>();
  for (const [path, reason] of found) {
    faults.set(path, [reason]);
    if (faults.size === MAX_FAULTS) break;
  }
  return faults.size > 0 ? Object.fromEntries(faults) : null;
};

/** An invalid `stack` is kept in `extra`, and not counted. */
const stackOf = ({ stack }: Extra): string | null =>
  typeof stack === 'string' && stack !== '' && stack.length <= MAX_STACK_LENGTH && isStorableText(stack)
    ? stack
    : null;

function* findRequestFaults(request: unknown): Generator<Fault> {
  const meta = isJsonObject(request) ? request.META : undefined;
  if (request != null && !isJsonObject(request)) yield ['extra.request', NOT_AN_OBJECT];
  else if (meta != null && !isJsonObject(meta)) yield ['extra.request.META', NOT_AN_OBJECT];
  else
    for (const [key, value] of Object.entries(meta ?? {})) {
      const path = pathOf('extra.request.META', key);
      if (!META_KEYS.has(key)) {
        if (isCredentialName(key, true)) yield [path, NO_CREDENTIALS];
      } else if (typeof value === 'object' && value !== null) yield [path, NOT_A_SCALAR];
    }
}

const withCleanRequest = (extra: Extra): Extra => {
  const { request } = extra;
  if (!isJsonObject(request)) return extra;
  const { path, META: meta } = request;
  const kept = { ...request };
  if (typeof path === 'string') kept.path = withoutSecrets(path);
  if (isJsonObject(meta)) {
    const documented = Object.entries(meta).filter(([key]) => META_KEYS.has(key));
    kept.META = Object.fromEntries(
      documented.map(([key, value]) => [
        key,
        ADDRESS_KEYS.has(key) && typeof value === 'string' ? withoutSecrets(value) : value,
      ]),
    );
  }
  return { ...extra, request: kept };
};

/** Where a value is: lists can name headers only in a request, and strings only among its headers. */
type Context = 'data' | 'request' | 'headers';

const REQUEST = /^[\s_.-]*(?:http[\s_.-]*)?req(?:uest)?[\s_.-]*$/i;
const HEADERS = /^[\s_.-]*(?:(?:raw|request|http)[\s_.-]*)?(?:headers?|meta)[\s_.-]*$/i;

/** Documented keys by the path of their object. */
const DOCUMENTED: Record<string, string> = { extra: 'request', 'extra.request': 'META' };

/**
 * Finds credentials in free-form data: by the keys of objects at any depth, and within a request also by the names in lists
 * and strings of headers. The depth must be bounded, and `request.META` validated.
 */
const findCredentials = (extra: Extra): Generator<Fault> => {
  const { request } = extra;
  const others = isJsonObject(request) ? { ...extra, request: { ...request, META: undefined } } : extra;
  return searchRecord(others, 'data', 'extra');
};

function* searchValue(value: unknown, place: Context, path: string): Generator<Fault> {
  if (Array.isArray(value)) yield* searchList(value, place, path);
  else if (isJsonObject(value)) yield* searchRecord(value, place, path);
  else if (typeof value === 'string' && place === 'headers' && hasCredentialLine(value))
    yield [path, NO_CREDENTIALS];
}

function* searchRecord(record: Extra, place: Context, path: string): Generator<Fault> {
  for (const [key, child] of Object.entries(record)) {
    const childPath = pathOf(path, key);
    const reason = reasonAgainst(key, place);
    if (reason !== null) yield [childPath, reason];
    // A string without a colon has no header line.
    else if (typeof child === 'string' ? child.includes(':') : typeof child === 'object') {
      const spelling = spellingOf(key, path);
      if (spelling !== null) yield [childPath, `Must be spelt ${spelling}.`];
      yield* searchValue(child, contextIn(place, key), childPath);
    }
  }
}

/** Pairs of name and value, alternating names and values, or header lines. */
function* searchList(list: readonly unknown[], place: Context, path: string): Generator<Fault> {
  const hasNames = place === 'headers' || (place === 'request' && list.length === 2);
  for (const [index, child] of list.entries()) {
    const isName = hasNames && index % 2 === 0 && typeof child === 'string';
    const reason = isName ? reasonAgainst(nameOf(child), place) : null;
    if (reason !== null) yield [`${path}.${index}`, reason];
    else yield* searchValue(child, place, `${path}.${index}`);
  }
}

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

const pathOf = (path: string, key: string): string => `${path}.${nameOf(key).slice(0, MAX_NAME_LENGTH)}`;

/** Separators between the words of a name. */
const GAP = String.raw`[\s_.-]*`;
const PREFIX =
  'http|x|proxy|set|amz|aws|goog|iap|cf|access|ms|forwarded|original|old|new|current|user|client|django|php|j';
const WORDS = [
  String.raw`cookies?\d?`,
  'csrf cookie',
  'authorization',
  '(?:api|auth|access|refresh|id|session|security|csrf|xsrf|csrf middleware|bearer) token',
  '(?:api|access|private|secret|secret access) key',
  'jwt(?: assertion)?',
  'pass(?:word|wd|phrase)',
  'secret',
  'sess(?:ion)? (?:id|key)',
  'sessid',
];

const namePattern = (words: readonly string[], end: string): RegExp =>
  new RegExp(
    `^[:\\s_.-]*(?:(?:${PREFIX})${GAP})*(?:${words.join('|').replaceAll(' ', GAP)})${GAP}${end}`,
    'i',
  );

const CREDENTIAL = namePattern(WORDS, '(?:$|:)');
/** Only within requests: elsewhere, `token` may be a coin, and `auth` a login method. */
const REQUEST_WORDS = [...WORDS, 'token', 'auth'];
const REQUEST_CREDENTIAL = namePattern(REQUEST_WORDS, '(?:$|:)');
const CREDENTIAL_LINE = namePattern(REQUEST_WORDS, ':');

/** No name is longer; normalization may turn one letter into 18. */
const MAX_CREDENTIAL_NAME_LENGTH = 128;
const ASCII = /^[\x20-\x7e]*$/;

const isAscii = (name: string): boolean => ASCII.test(name);

/** A name without full-width letters, joiners and accents, as a reader would understand it. */
const readableName = (name: string): string => {
  if (isAscii(name)) return name;
  const folded = name.trim().slice(0, MAX_CREDENTIAL_NAME_LENGTH).normalize('NFKC');
  return isAscii(folded) ? folded : folded.replace(/[\p{Cf}\p{M}]/gu, '');
};

/** Whether a line `name: value` of a string has a credential. */
export const hasCredentialLine = (text: string): boolean =>
  // One line at a time: separators match line breaks, so a multi-line search would be quadratic.
  text.split(/[\r\n]/).some((line) => CREDENTIAL_LINE.test(line));

/** Whether a key, or a line `name: value`, names a credential: `HTTP_COOKIE`, `X-CSRFToken`, `accessToken`. */
export const isCredentialName = (name: string, inRequest: boolean): boolean =>
  (inRequest ? REQUEST_CREDENTIAL : CREDENTIAL).test(readableName(name));

/**
 * Parameters by their last word: `reset_token`, `user[password]`. For a link within a link, percent-encoded once or more, the
 * rest of the outer parameter is masked too.
 */
const SECRET_PARAMETER = new RegExp(
  [
    '((?:token|secret|passw(?:or)?d|pwd|jwt|signature|cookie|authorization',
    '(?:api|access)[_.-]?key|sess(?:ion)?[_.-]?(?:id|key)',
    '(?:^|[?&;#/_.[-]|%(?:25)*(?:3f|26|23|3b|5b))(?:key|sig|auth|sid|otp))',
  ].join('|') + String.raw`(?:\]|%(?:25)*5d)?(?:=|%(?:25)*3d))[^&#]+`,
  'gi',
);
/** `user:password@` before a host */
const LOGIN = /(?<=\/\/)[^/?#@]*@/g;

/** Replaces the values of secret parameters, and a login before the host, by `…`. */
export const withoutSecrets = (text: string): string =>
  text.replace(LOGIN, '…@').replace(SECRET_PARAMETER, '$1…');
