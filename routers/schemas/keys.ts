import { z } from 'zod';
import { normalizeEmail } from '../../src/lib/email-address.ts';
import { Text } from './fields.ts';

export const INT4_MAX = 2_147_483_647;

export const Id = z.int().min(1).max(INT4_MAX);

/** An id in a path. Any integer is accepted: one that cannot be an id is not found. */
export const IdKey = z.int().transform((id) => (id >= 1 && id <= INT4_MAX ? id : 0));

export const ById = z.object({ id: IdKey });

/** A bigint id in a path, of tokens, sessions, mails and audit entries. */
export const LongIdKey = z.int().transform((id) => Math.max(0, id));

/** The id after which a page starts. */
export const IdCursor = z.int().transform((id) => Math.min(Math.max(0, id), INT4_MAX));

/** The token of a mailed link. Any text is accepted: an unknown token is treated as an expired link. */
export const LinkToken = z.string().max(128);

/** Identifies a user. Any text is accepted: an invalid address is not found. */
export const EmailKey = Text(1024).overwrite(normalizeEmail);

export const ByEmail = z.object({ email: EmailKey });

/** Identifies an app. Any text is accepted: an invalid id is not found. */
export const AppKey = Text(255);

export const ByApp = z.object({ app_id: AppKey });

const APP_ID = /^[A-Za-z0-9]{8}$/;
const MAX_APP_IDS = 1000;
const MAX_APP_ID_ERRORS = 10;

/** Distinct app ids. Validated as a whole, to bound the number of errors for a hostile list. */
export const AppIds = z
  .array(z.custom<string>(), {
    error: ({ input }) => (input === undefined ? 'This field is required.' : 'Must be an array of app ids.'),
  })
  .superRefine((ids, context) => {
    const addError = (message: string, path: number[] = []) =>
      context.addIssue({ code: 'custom', message, path });
    if (ids.length > MAX_APP_IDS) return addError(`Must have at most ${MAX_APP_IDS} elements.`);
    const invalid = ids.flatMap((id, index) => (typeof id === 'string' && APP_ID.test(id) ? [] : [index]));
    for (const index of invalid.slice(0, MAX_APP_ID_ERRORS))
      addError('Must be 8 letters or digits.', [index]);
  })
  .transform((ids) => [...new Set(ids)])
  .meta({
    json: { type: 'array', maxItems: MAX_APP_IDS, items: { type: 'string', pattern: APP_ID.source } },
  });

/** A list in which repeated elements count once. */
export const distinct = <Element extends z.ZodType>(element: Element, maxLength: number) =>
  z
    .array(element)
    .max(maxLength)
    .transform((elements) => [...new Set(elements)]);

export const GroupIds = distinct(Id, 100);

export const Slug = z
  .string()
  .regex(/^[a-z0-9_-]{1,64}$/, 'Must be 1 to 64 characters from a-z, 0-9, _ and -.');
