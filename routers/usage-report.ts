import { z } from 'zod';
import { type KeptExtra, keptExtra } from '../src/services/usage/usage-extra.ts';
import type { UsageElement as Element } from '../src/services/usage/usage-reports.ts';
import { fieldErrors } from './errors.ts';
import { Email, Instant, Text } from './schemas.ts';

const Action = z
  .string()
  .max(64)
  .regex(/^[A-Z][A-Z0-9_]*$/, 'Must be upper-case words, such as STACK_ACCESS.');

/** A `Date` over tRPC, ISO 8601 with its offset over REST. */
const Moment = z
  .union(
    [Instant, z.iso.datetime({ offset: true }).transform((text) => new Date(text))],
    'Must be a time such as 2026-01-31T12:00:00Z.',
  )
  .meta({ json: { type: 'string', format: 'date-time' } });

/** Any JSON object of at most 64 KiB. */
const UsageExtra = z
  .custom<Record<string, unknown>>()
  .default({})
  .transform((value, context): KeptExtra => {
    const result = keptExtra(value);
    if ('kept' in result) return result.kept;
    for (const [field, [message]] of Object.entries(result.faults)) {
      context.addIssue({ code: 'custom', message, path: field.split('.').slice(1) });
    }
    return z.NEVER;
  })
  .meta({ json: { type: 'object', additionalProperties: true, default: {} } });

/** `null` is what many serializers send for what there is not. */
const UsageReport = z.object({
  /** The platform's own id of it: sent again with the same timestamp, it is not written again. */
  id: Text(128).min(1).nullable().default(null),
  email: Email,
  /** Absent: the name that the user has now. */
  full_name: Text(301).nullable().default(null),
  /** Absent: now. */
  timestamp: Moment.nullable().default(null),
  action: Action,
  action_description: Text(10_000)
    .nullish()
    .transform((text) => text ?? ''),
  extra: UsageExtra,
});

/** A bad element does not hide the faults of the others: they are told together, each by its index. */
export const UsageElement = UsageReport.transform((value): Element => ({ value, faults: {} })).catch(
  ({ error }) => ({
    value: null,
    faults: fieldErrors(error),
  }),
);
