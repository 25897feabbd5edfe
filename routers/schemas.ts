import { z } from 'zod';
import { isJsonObject, reasonAgainst, shielded } from '../src/core/free-form.ts';

// One wording for what is missing; every other message names what was expected.
z.config({
  customError: (issue) =>
    issue.code === 'invalid_type' && issue.input === undefined ? 'This field is required.' : undefined,
});

const INT4_MAX = 2_147_483_647;

/** A moment: a `Date` over tRPC, ISO 8601 in UTC with milliseconds over REST. */
export const Instant = z.date();

/** Text that PostgreSQL can hold: it has no place for NUL, nor UTF-8 for half a surrogate pair. */
export const Text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine(
      (text) => !text.includes('\0') && text.isWellFormed(),
      'Must not contain NUL or broken characters.',
    );

export const Id = z.int().min(1).max(INT4_MAX);

/** An address to write to. Addresses are the same in any case, and kept in lower case. */
export const Email = z.email('Must be an email address.').max(254).toLowerCase();

/** An address that names a user. It is looked up, not judged: what is no address names nobody. */
export const EmailKey = Text(254).toLowerCase();

export const AppId = z.string().regex(/^[A-Za-z0-9]{8}$/, 'Must be 8 letters or digits.');
export const AppIds = z.array(AppId).max(1000);

export const Slug = z.string().regex(/^[a-z0-9_-]{1,64}$/, 'Must be 1 to 64 of a-z, 0-9, _ and -.');

/** Free-form data of apps, kept as sent: any keys, `__proto__` included, as plain data. At most 64 KiB. */
export const Extra = z.custom<Record<string, unknown>>().superRefine((value, context) => {
  const reason = reasonAgainst(value);
  if (reason !== null) context.addIssue({ code: 'custom', message: reason });
});

/** Free-form data on its way out. */
export const AnyObject = z.custom<Record<string, unknown>>(isJsonObject, 'Must be an object.');

/** Hands free-form data out so that superjson passes it through rather than refusing a key such as `__proto__`. */
export const freeForm = (data: Record<string, unknown>): Record<string, unknown> => shielded(data);

export const NoInput = z.object({});
