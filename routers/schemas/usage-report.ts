import { z } from 'zod';
import { collectReports, type UsageElement } from '../../src/services/usage/usage-columns.ts';
import { type SanitizedExtra, sanitizeExtra } from '../../src/services/usage/usage-extra.ts';
import { fieldErrors } from '../middleware/errors.ts';
import { Email, Instant, Text } from './fields.ts';

const Action = z
  .string()
  .max(64)
  .regex(/^[A-Z][A-Z0-9_]*$/, 'Must be upper-case words, such as STACK_ACCESS.');

/** A `Date` over tRPC, ISO 8601 with its offset over REST. */
const Timestamp = z
  .union(
    [Instant, z.iso.datetime({ offset: true }).transform((text) => new Date(text))],
    'Must be a time such as 2026-01-31T12:00:00Z.',
  )
  .meta({ json: { type: 'string', format: 'date-time' } });

/** Any JSON object of at most 64 KiB. */
const UsageExtra = z
  .custom<Record<string, unknown>>()
  .default({})
  .transform((value, context): SanitizedExtra => {
    const result = sanitizeExtra(value);
    if ('kept' in result) return result.kept;
    for (const [field, [message]] of Object.entries(result.faults)) {
      context.addIssue({ code: 'custom', message, path: field.split('.').slice(1) });
    }
    return z.NEVER;
  })
  .meta({ json: { type: 'object', additionalProperties: true, default: {} } });

/** Many serializers send `null` for a missing value. */
export const UsageReport = z.object({
  /** The platform's own id. An entry with the same id and timestamp is written once. */
  id: Text(128).min(1).nullable().default(null),
  email: Email,
  /** Default: the user's current name. */
  full_name: Text(301).nullable().default(null),
  /** Default: now. */
  timestamp: Timestamp.nullable().default(null),
  action: Action,
  action_description: Text(10_000)
    .nullish()
    .transform((text) => text ?? ''),
  extra: UsageExtra,
});

/** Validates elements one by one, so that errors of all elements are reported together, by index. */
const readElement = (element: unknown): UsageElement => {
  const { data, error } = UsageReport.safeParse(element);
  return data ? { value: data, faults: null } : { value: null, faults: fieldErrors(error) };
};

export const usageReports = (maxEntries: number) =>
  z
    .array(z.custom<z.input<typeof UsageReport>>().meta({ sent: UsageReport }))
    .max(maxEntries)
    .transform((elements) => collectReports(elements, readElement));
