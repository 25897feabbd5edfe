import { z } from 'zod';
import type { DumpRecord } from './django-dump.ts';

const MAX_NAME_LENGTH = 150;
const MAX_EMAIL_LENGTH = 254;
/** What the column holds; Django's own holds 128. */
const MAX_HASH_LENGTH = 512;

const Text = (maxLength: number) =>
  z
    .string('Must be a string.')
    .max(maxLength, `Must have at most ${maxLength} characters.`)
    .refine(
      (text) => !text.includes('\0') && text.isWellFormed(),
      'Must not contain NUL or broken characters.',
    );

const Name = Text(MAX_NAME_LENGTH)
  .nullish()
  .transform((name) => name ?? '');

const Flag = (absent: boolean) => z.boolean('Must be true or false.').default(absent);

const INSTANT = 'Must be a time with its offset from UTC, such as 2026-11-21T12:00:00Z.';

/** ISO 8601 in UTC, within the years that it and PostgreSQL write alike. */
const Instant = z.iso
  .datetime({ offset: true, error: INSTANT })
  .transform((text) => new Date(text))
  .refine((time) => time.getUTCFullYear() >= 1 && time.getUTCFullYear() <= 9999, INSTANT)
  .transform((time) => time.toISOString())
  .nullish()
  .transform((time) => time ?? null);

/** Django marks a password with which nobody can log in by a `!`. */
const PasswordHash = Text(MAX_HASH_LENGTH)
  .nullish()
  .transform((hash) => (hash && !hash.startsWith('!') ? hash : null));

/** As the API takes them. */
const Address = z.email({ pattern: z.regexes.html5Email }).max(MAX_EMAIL_LENGTH);
const NO_ADDRESS = `Must be an email address of at most ${MAX_EMAIL_LENGTH} characters, here or in username.`;

const UserFields = z.object({
  email: z.string(NO_ADDRESS).toLowerCase(),
  password: PasswordHash,
  first_name: Name,
  last_name: Name,
  is_active: Flag(true),
  is_staff: Flag(false),
  is_superuser: Flag(false),
  last_login: Instant,
  date_joined: Instant,
});

/** What is taken of a Django user. Times are ISO 8601 in UTC. */
export type DjangoUser = z.output<typeof UserFields>;

export type Fault = { field: string; message: string };

/** A record of the wanted model: a user, or what is wrong with it. */
export type DjangoRecord = {
  position: number;
  /** For people to find it by: as it was given, and not judged. */
  pk: string;
  email: string;
} & ({ user: DjangoUser; faults: null } | { user: null; faults: Fault[] });

/** The user that a record describes, or every fault of it; null for a record of another model. */
export const readDjangoUser = ({ position, value }: DumpRecord, model: string): DjangoRecord | null => {
  const faulty = (faults: Fault[]): DjangoRecord => ({ position, pk, email, user: null, faults });
  const { model: given, pk: key, fields } = isObject(value) ? value : {};
  if (typeof given === 'string' && given.toLowerCase() !== model) return null;

  const pk = shown(key);
  const email = isObject(fields) ? shown(fields.email) || shown(fields.username) : '';
  if (typeof given !== 'string') return faulty([{ field: 'model', message: 'Must name a model.' }]);
  if (!isObject(fields)) return faulty([{ field: 'fields', message: 'Must be an object.' }]);

  const { data, error } = UserFields.safeParse({ ...fields, email: addressIn(fields) });
  if (data) return { position, pk, email: data.email, user: data, faults: null };
  return faulty(error.issues.map(({ path, message }) => ({ field: path.join('.'), message })));
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The address of `email`, else the one that people have logged in by. */
const addressIn = ({ email, username }: Record<string, unknown>): unknown =>
  [email, username].find((text) => Address.safeParse(text).success);

/** Whatever was given, as text that steers no terminal and that PostgreSQL can hold. */
const shown = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number'
    ? String(value)
        .slice(0, MAX_EMAIL_LENGTH)
        .toWellFormed()
        .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
    : '';
