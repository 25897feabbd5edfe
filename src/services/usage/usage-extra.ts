import { freeFormText, isJsonObject } from '../../core/free-form.ts';
import type { FieldErrors } from '../../core/problems.ts';

/** What is kept of a request's metadata: the keys that are documented, and of use to whoever reads the log. */
const KEPT = new Set([
  'HTTP_USER_AGENT',
  'SERVER_NAME',
  'HTTP_REFERER',
  'REMOTE_ADDR',
  'CONTENT_TYPE',
  'REQUEST_METHOD',
  'HTTP_HOST',
  'SERVER_PORT',
  'QUERY_STRING',
  'HTTP_ACCEPT_ENCODING',
]);

/** Headers that log somebody in, however a platform spells them: `HTTP_COOKIE`, `Authorization`, `X-CSRFToken`. */
const CREDENTIAL =
  /^(http[_-])?(x[_-])?(proxy[_-])?(set[_-])?(cookies?\d?|authorization|api[_-]?key|auth[_-]token|csrf[_-]?token|csrf[_-]cookie)$/i;

/** More than anybody mends at once. */
const MAX_FAULTS = 20;
const MAX_STACK_LENGTH = 255;
const REFUSAL = 'Must not be logged: it is a credential.';

/** `extra` as the log keeps it: JSON text, and the stack that it is rolled up by. */
export type KeptExtra = { text: string; stack: string | null };

/**
 * What the log keeps of an entry's `extra`: all of it, but of the request's metadata only the documented keys. What
 * would let a reader of the log act in the user's name is a fault, for whoever sends it should know.
 */
export const keptExtra = (value: unknown): { kept: KeptExtra } | { faults: FieldErrors } => {
  if (!isJsonObject(value)) return { faults: { extra: ['Must be an object.'] } };
  const faults = credentialFaults(value.request);
  if (faults) return { faults };
  const result = freeFormText(withKeptMeta(value));
  if ('reason' in result) return { faults: { extra: [result.reason] } };
  return { kept: { text: result.text, stack: stackOf(value) } };
};

const credentialFaults = (request: unknown): FieldErrors | null => {
  if (!isJsonObject(request)) return null;
  const parts = { '': request, '.META': request.META, '.headers': request.headers };
  const paths = Object.entries(parts).flatMap(([part, record]) =>
    isJsonObject(record) ? credentialsIn(record).map((key) => `extra.request${part}.${key}`) : [],
  );
  return paths.length > 0 ? Object.fromEntries(paths.map((path) => [path, [REFUSAL]])) : null;
};

const credentialsIn = (record: Record<string, unknown>): string[] =>
  Object.keys(record)
    .filter((key) => !KEPT.has(key) && CREDENTIAL.test(key))
    .slice(0, MAX_FAULTS);

const withKeptMeta = (extra: Record<string, unknown>): Record<string, unknown> => {
  const { request } = extra;
  if (!isJsonObject(request) || !isJsonObject(request.META)) return extra;
  const entries = Object.entries(request.META);
  const kept = entries.filter(([key]) => KEPT.has(key));
  return kept.length === entries.length
    ? extra
    : { ...extra, request: { ...request, META: Object.fromEntries(kept) } };
};

/** Any other `stack` is kept in `extra`, and not counted. PostgreSQL has no place for NUL in a text. */
const stackOf = ({ stack }: Record<string, unknown>): string | null =>
  typeof stack === 'string' &&
  stack !== '' &&
  stack.length <= MAX_STACK_LENGTH &&
  !stack.includes('\0') &&
  stack.isWellFormed()
    ? stack
    : null;
