import { z } from 'zod';
import { findJsonProblem, isStorableText } from '../../src/lib/json-value.ts';
import { readInstant, trimInvisible } from '../../src/lib/typed-text.ts';
import { MAX_PASSWORD_LENGTH } from '../../src/services/passwords/password-rules.ts';
import { Instant } from './outputs.ts';

export { Email, EmailAddress, NewEmail } from '../../src/lib/email-address.ts';

type Issue = z.core.$ZodRawIssue;

const TYPE_NAMES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  date: 'a date, such as 2026-01-31 or 2026-01-31T12:00:00Z',
};

/** Messages of zod's errors for callers, in one style for all inputs. */
const describeIssue = (issue: Issue): string | undefined => {
  if (issue.input === undefined && issue.code !== 'custom') return 'This field is required.';
  if (issue.code === 'invalid_type') return `Must be ${TYPE_NAMES[issue.expected] ?? issue.expected}.`;
  if (issue.code === 'too_big') return `Must ${amountOf(issue.origin, `at most ${issue.maximum}`)}.`;
  if (issue.code === 'too_small') {
    if (issue.origin === 'string' && issue.minimum === 1) return 'Must not be empty.';
    return `Must ${amountOf(issue.origin, `at least ${issue.minimum}`)}.`;
  }
  if (issue.code === 'invalid_value')
    return `Must be one of ${issue.values.map((value) => `"${String(value)}"`).join(', ')}.`;
  return undefined;
};

const amountOf = (origin: string, limit: string): string => {
  if (origin === 'string') return `have ${limit} characters`;
  return origin === 'array' ? `have ${limit} elements` : `be ${limit}`;
};

z.config({ customError: describeIssue });

/** Text that PostgreSQL can store, so without null characters and unpaired surrogates. */
export const Text = (maxLength: number) => storable(z.string().max(maxLength));

const storable = (schema: z.ZodString) =>
  schema.refine(isStorableText, 'Must not contain null characters or invalid Unicode.');

/** HTML that people see: it is sanitized where it is shown. */
export const Html = Text(100_000);

/** The reason for which someone gets an app. */
export const Reason = Text(500);

/** A first or last name. Trimmed before the length check. */
export const PersonName = storable(z.string().trim().max(150));

/** Text with at least one visible character. */
export const Name = (maxLength: number) => Text(maxLength).regex(/\S/, 'Must not be empty.');

/**
 * Any text is accepted: unknown usernames and wrong passwords fail in the same way. The username is an email address, so it
 * is trimmed; the password is not.
 */
export const Login = {
  username: z.string().overwrite(trimInvisible).min(1, 'This field is required.').max(1024),
  password: z.string().min(1, 'This field is required.').max(MAX_PASSWORD_LENGTH),
};

/** A code of an authenticator app, or a recovery code, with or without spaces and hyphens. */
export const OneTimeCode = z.string().trim().min(1, 'This field is required.').max(64);

/** A new password within the length limits of a login. The service checks the password policy. */
export const NewPassword = z.string().min(1, 'This field is required.').max(MAX_PASSWORD_LENGTH);

/** Free-form JSON of at most 64 KiB, stored as sent. Any key is plain data, including `__proto__`. */
export const Extra = z
  .custom<Record<string, unknown>>()
  .superRefine((value, context) => {
    const reason = findJsonProblem(value);
    if (reason !== null) context.addIssue({ code: 'custom', message: reason });
  })
  .meta({ json: { type: 'object', additionalProperties: true } });

/** As JSON Schema. */
export const ANY_JSON = { type: ['string', 'number', 'boolean', 'array', 'object', 'null'] as const };

/** Any JSON, or nothing. */
export const FreeValue = z
  .unknown()
  .refine(
    (value) => value === undefined || findJsonProblem({ value }) === null,
    'Must be JSON of at most 64 KiB.',
  )
  .meta({ json: ANY_JSON })
  .optional();

/** An input without required fields: tRPC calls need no argument. */
export const OptionalInput = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.object(shape).prefault({} as never); // the type of a shape that is not known yet fits nothing

type WithoutDefaults<Shape extends z.ZodRawShape> = {
  [Name in keyof Shape]: Shape[Name] extends z.ZodDefault<infer Field> ? Field : Shape[Name];
};

/** Derives the fields of an update from the fields of a creation: optional, without defaults. */
export const changesOf = <Shape extends z.ZodRawShape>(shape: Shape) => {
  const fields = Object.entries(shape).map(([name, field]) => [
    name,
    field instanceof z.ZodDefault ? field.unwrap() : field,
  ]);
  return z.object(Object.fromEntries(fields) as WithoutDefaults<Shape>).partial();
};

/** No input: REST bodies and queries are ignored. */
export const NoInput = OptionalInput({});

/** The start or end of a time range: a `Date` over tRPC, ISO 8601 in a query. */
export const InstantKey = z
  .date()
  .min(new Date('0001-01-01T00:00:00Z'), 'Must not be before the year 1.')
  .max(new Date('9999-12-31T00:00:00Z'), 'Must not be after the year 9999.');

/** Whole days up to today. */
export const WindowDays = z.int().min(1).max(3650);

/** The window of usage for callers who do not choose one. */
export const DEFAULT_WINDOW_DAYS = 30;

export const UsageWindow = WindowDays.default(DEFAULT_WINDOW_DAYS);

const INVALID_INSTANT = 'Must be a time such as 2026-01-31T12:00:00Z.';

const IsoInstant = z.string().transform(readInstant).pipe(InstantKey);

/** A time in a body: a `Date` over tRPC, ISO 8601 with its offset over REST. */
export const BodyInstant = z
  .union([Instant, IsoInstant], INVALID_INSTANT)
  .meta({ json: { type: 'string', format: 'date-time' } });

/** A time in a body, or null for none. */
export const Expiry = z
  .union([InstantKey, IsoInstant], INVALID_INSTANT)
  .nullable()
  .meta({ json: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] } });
