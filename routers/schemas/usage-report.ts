import { z } from 'zod';
import { type KeptExtra, keptExtra } from '../../src/services/usage/usage-extra.ts';
import { reportsOf, type UsageElement } from '../../src/services/usage/usage-reports.ts';
import { fieldErrors } from '../middleware/errors.ts';
import { Email, Instant, Text } from './fields.ts';
import { ACTION, MAX_LENGTHS, usualReport } from './usage-fast-path.ts';

const Action = z
  .string()
  .max(MAX_LENGTHS.action)
  .regex(ACTION, 'Must be upper-case words, such as STACK_ACCESS.');

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
export const UsageReport = z.object({
  /** The platform's own id of it: sent again with the same timestamp, it is not written again. */
  id: Text(MAX_LENGTHS.id).min(1).nullable().default(null),
  email: Email,
  /** Absent: the name that the user has now. */
  full_name: Text(MAX_LENGTHS.full_name).nullable().default(null),
  /** Absent: now. */
  timestamp: Moment.nullable().default(null),
  action: Action,
  action_description: Text(MAX_LENGTHS.action_description)
    .nullish()
    .transform((text) => text ?? ''),
  extra: UsageExtra,
});

/** A bad element does not hide the faults of the others: they are told together, each by its index. */
const readElement = (element: unknown): UsageElement => {
  const usual = usualReport(element);
  if (usual !== null) return { value: usual, faults: null };
  const { data, error } = UsageReport.safeParse(element);
  return data ? { value: data, faults: null } : { value: null, faults: fieldErrors(error) };
};

export const usageReports = (maxEntries: number) =>
  z
    .array(z.custom<z.input<typeof UsageReport>>().meta({ sent: UsageReport }))
    .max(maxEntries)
    .transform((elements) => reportsOf(elements, readElement));
