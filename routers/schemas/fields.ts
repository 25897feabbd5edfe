import { z } from 'zod';
import { normalizeEmail } from '../../src/lib/email-address.ts';
import { findJsonProblem, isJsonObject } from '../../src/lib/json-value.ts';
import { MAX_PASSWORD_LENGTH } from '../../src/services/passwords/password-rules.ts';
import { describeIssue } from './zod-messages.ts';

z.config({ customError: describeIssue });

export { Email, EmailAddress } from '../../src/lib/email-address.ts';

const INT4_MAX = 2_147_483_647;

/** A moment: a `Date` over tRPC, ISO 8601 in UTC with milliseconds over REST. */
export const Instant = z.date();

/** Text that PostgreSQL can hold: it has no place for NUL, nor UTF-8 for half a surrogate pair. */
export const Text = (maxLength: number) => storable(z.string().max(maxLength));

const storable = (schema: z.ZodString) =>
  schema.refine(
    (text) => !text.includes('\0') && text.isWellFormed(),
    'Must not contain NUL or broken characters.',
  );

/** A first or last name, trimmed before it is measured. */
export const PersonName = storable(z.string().trim().max(150));

/** Text that says something. */
export const Name = (maxLength: number) => Text(maxLength).regex(/\S/, 'Must not be empty.');

export const Id = z.int().min(1).max(INT4_MAX);

/** An id in a path. It is looked up, not judged: a number that is no id names nothing. */
export const IdKey = z.int().transform((id) => (id >= 1 && id <= INT4_MAX ? id : 0));

/** Ids of what there may be more of than an int4 counts: tokens, sessions, mails, audit entries. */
export const LongIdKey = z.int().transform((id) => Math.max(0, id));

/** The id behind which a page begins, where ids are int4. */
export const IdCursor = z.int().transform((id) => Math.min(Math.max(0, id), INT4_MAX));

/**
 * Any text is accepted: unknown usernames and wrong passwords fail in the same way. A username is an
 * email address, and so trimmed; a password is taken as it is.
 */
export const Login = {
  username: z.string().trim().min(1, 'This field is required.').max(1024),
  password: z.string().min(1, 'This field is required.').max(MAX_PASSWORD_LENGTH),
};

/** What a password is to be. The policy says more; this keeps it to what can be logged in with. */
export const NewPassword = z.string().min(1, 'This field is required.').max(MAX_PASSWORD_LENGTH);

/** An address that names a user. It is looked up, not judged: what is no address names nobody. */
export const EmailKey = Text(1024).overwrite(normalizeEmail);

const APP_ID = /^[A-Za-z0-9]{8}$/;
const MAX_APP_IDS = 1000;
const MAX_APP_ID_FAULTS = 10;

/** Ids of apps, each once. Checked as a whole, so that a hostile list does not become a list of a million faults. */
export const AppIds = z
  .custom<string[]>()
  .superRefine((ids: unknown, context) => {
    const fault = (message: string, path: number[] = []) =>
      context.addIssue({ code: 'custom', message, path });
    if (ids === undefined) return fault('This field is required.');
    if (!Array.isArray(ids)) return fault('Must be an array of app ids.');
    if (ids.length > MAX_APP_IDS) return fault(`Must have at most ${MAX_APP_IDS} elements.`);
    const bad = ids.flatMap((id, index) => (typeof id === 'string' && APP_ID.test(id) ? [] : [index]));
    for (const index of bad.slice(0, MAX_APP_ID_FAULTS)) fault('Must be 8 letters or digits.', [index]);
  })
  .transform((ids) => [...new Set(ids)])
  .meta({
    json: { type: 'array', maxItems: MAX_APP_IDS, items: { type: 'string', pattern: APP_ID.source } },
  });

export const Slug = z.string().regex(/^[a-z0-9_-]{1,64}$/, 'Must be 1 to 64 of a-z, 0-9, _ and -.');

/** Free-form data of apps, kept as sent: any keys, `__proto__` included, as plain data. At most 64 KiB. */
export const Extra = z
  .custom<Record<string, unknown>>()
  .superRefine((value, context) => {
    const reason = findJsonProblem(value);
    if (reason !== null) context.addIssue({ code: 'custom', message: reason });
  })
  .meta({ json: { type: 'object', additionalProperties: true } });

/** Free-form data on its way out. */
export const AnyObject = z
  .custom<Record<string, unknown>>(isJsonObject, 'Must be an object.')
  .meta({ json: { type: 'object', additionalProperties: true } });

/** Nothing to say. tRPC then needs no argument: `sites.list.query()`; over REST it is an object without keys. */
export const NoInput = z.object({}).prefault({});

/** A bound in time: a `Date` over tRPC, ISO 8601 in a query. */
export const InstantKey = z
  .date()
  .min(new Date('0001-01-01T00:00:00Z'), 'Must not be before the year 1.')
  .max(new Date('9999-12-31T00:00:00Z'), 'Must not be after the year 9999.');

/** How many a page has. */
export const Limit = z.int().min(1).max(200).default(50);
