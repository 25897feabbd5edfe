import { isJsonObject, stringifyJsonValue } from '../../lib/json-value.ts';
import type { FieldErrors } from '../../lib/problems.ts';
import { credentialFaults } from './usage-credentials.ts';
import { sanitizeRequest } from './usage-request.ts';

const MAX_STACK_LENGTH = 255;

/** `extra` as the log keeps it: JSON text, and the stack that it is rolled up by. */
export type SanitizedExtra = { text: string; stack: string | null };

/**
 * What the log keeps of an entry's `extra`: all of it, but of the request's metadata only the documented keys, and of
 * its addresses no secrets. What else would let a reader of the log act in the user's name is a fault, for whoever
 * sends it should know.
 */
export const sanitizeExtra = (value: unknown): { kept: SanitizedExtra } | { faults: FieldErrors } => {
  if (!isJsonObject(value)) return { faults: { extra: ['Must be an object.'] } };
  const result = sanitizeRequest(value);
  if ('faults' in result) return result;
  const free = stringifyJsonValue(result.extra);
  if ('reason' in free) return { faults: { extra: [free.reason] } };
  const faults = credentialFaults(result.extra);
  return faults ? { faults } : { kept: { text: free.text, stack: stackOf(value) } };
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
