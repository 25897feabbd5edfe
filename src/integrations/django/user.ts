import { z } from 'zod';
import { MAX_EMAIL_LENGTH, NewEmail } from '../../lib/email-address.ts';
import { parseJson } from '../../lib/exact-json.ts';
import { findJsonProblem, isStorableText } from '../../lib/json-value.ts';
import { printable } from '../../lib/operator-text.ts';
import type { DumpRecord } from './dump.ts';
import type { ProfileValues, Remark, Sources } from './fields.ts';

const MAX_NAME_LENGTH = 150;
const MAX_HANDLE_LENGTH = 64;
const MAX_URL_LENGTH = 2048;
/** The size of the column; Django's column holds 128. */
const MAX_HASH_LENGTH = 512;

const Text = (maxLength: number) =>
  z
    .string('Must be a string.')
    .max(maxLength, `Must have at most ${maxLength} characters.`)
    .refine(isStorableText, 'Must not contain null characters or invalid Unicode.');

const Name = Text(MAX_NAME_LENGTH)
  .nullish()
  .transform((name) => name ?? '');

const Flag = (absent: boolean) => z.boolean('Must be true or false.').default(absent);

const INSTANT = 'Must be a time with its offset from UTC, such as 2026-11-21T12:00:00Z.';

/** ISO 8601 in UTC, limited to years that PostgreSQL writes in the same form. */
const Instant = z.iso
  .datetime({ offset: true, error: INSTANT })
  .transform((text) => new Date(text))
  .refine((time) => time.getUTCFullYear() >= 1 && time.getUTCFullYear() <= 9999, INSTANT)
  .nullish()
  .transform((time) => time ?? null);

/** Django's unusable passwords start with `!`. */
const PasswordHash = Text(MAX_HASH_LENGTH)
  .nullish()
  .transform((hash) => (hash && !hash.startsWith('!') ? hash : null));

/** An empty value becomes null: a new user's default. */
const orDefault = <T extends z.ZodType<string>>(schema: T) =>
  z.preprocess((text) => (text === '' ? null : text), schema.nullish()).transform((text) => text ?? null);

const Handle = Text(MAX_HANDLE_LENGTH).regex(/\S/, 'Must not be blank.');

const Color = z
  .string('Must be a string.')
  .regex(/^#?[0-9a-f]{6}$/i, 'Must be six hexadecimal digits, such as 1f77b4.')
  .transform((color) => color.slice(-6).toLowerCase());

const AvatarUrl = Text(MAX_URL_LENGTH).check(
  z.url({ protocol: /^https?$/, error: 'Must be an http:// or https:// URL.' }),
);

/** Text fields of Django also hold JSON: an object as text, and an empty text for none. */
const readJsonText = (value: unknown): unknown => {
  if (typeof value !== 'string') return value;
  try {
    return value.trim() === '' ? null : parseJson(value);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return value;
    throw error;
  }
};

const JsonObject = z.custom<Record<string, unknown>>().superRefine((value, context) => {
  const reason = findJsonProblem(value);
  if (reason !== null) context.addIssue({ code: 'custom', message: reason });
});

const Extra = z.preprocess(readJsonText, JsonObject.nullish()).transform((value) => value ?? {});

const INVALID_EMAIL = `Must be an email address of at most ${MAX_EMAIL_LENGTH} characters, here or in username.`;

const UserFields = z.object({
  email: z.string(INVALID_EMAIL),
  password: PasswordHash,
  first_name: Name,
  last_name: Name,
  extra: Extra,
  handle: orDefault(Handle),
  profile_color: orDefault(Color),
  profile_avatar: orDefault(AvatarUrl),
  is_active: Flag(true),
  is_demo_user: Flag(false),
  is_staff: Flag(false),
  is_superuser: Flag(false),
  last_login: Instant,
  date_joined: Instant,
  last_activated: Instant,
  last_deactivated: Instant,
  last_password_set: Instant,
});

/** The fields that an import can set, by default from the field of the dump with the same name. */
export const USER_FIELDS = UserFields.keyof().options;

export type UserField = (typeof USER_FIELDS)[number];

/** The imported fields of a Django user. */
export type DjangoUser = z.output<typeof UserFields>;

/** A record of the user model. */
export type DjangoRecord = {
  position: number;
  /** As in the dump, even if invalid: identifies the record in reports. */
  pk: string;
  email: string;
  /** Null if the record has errors. */
  user: DjangoUser | null;
  remarks: Pick<Remark, 'outcome' | 'field' | 'message'>[];
};

/** Whether a record has this model, or no valid model. */
export const isOfModel = ({ value }: DumpRecord, model: string): boolean => {
  const label = isObject(value) ? value.model : undefined;
  return typeof label !== 'string' || label.toLowerCase() === model;
};

/** The primary key by which other records reference a user; null if it cannot be compared. */
export const keyOf = (value: unknown): string | null => {
  if (Number.isSafeInteger(value)) return String(value);
  const isText = typeof value === 'string' && value !== '' && isStorableText(value);
  return isText ? value : null;
};

export const userKeyOf = ({ value }: DumpRecord): string | null => (isObject(value) ? keyOf(value.pk) : null);

/** Reads a record of the user model, or finds all its errors. */
export const readDjangoUser = (
  { position, value }: DumpRecord,
  sources: Sources,
  profiles: ProfileValues,
): DjangoRecord => {
  const { model, pk: key, fields } = isObject(value) ? value : {};
  const isValid = typeof model === 'string' && isObject(fields);
  const input = isValid ? inputOf(fields, sources, profiles) : {};
  const record = { position, pk: shown(key), email: shown(input.email) || shown(input.username) };
  const refuse = (faults: { field: string; message: string }[]): DjangoRecord => ({
    ...record,
    user: null,
    remarks: faults.map((fault) => ({ outcome: 'faulty', ...fault })),
  });
  if (typeof model !== 'string') return refuse([{ field: 'model', message: 'Must name a model.' }]);
  if (!isValid) return refuse([{ field: 'fields', message: 'Must be an object.' }]);

  const { data, error } = UserFields.safeParse({ ...input, email: addressIn(input) });
  const faults = [
    ...(error?.issues ?? []).map(({ path, message }) => ({ field: path.join('.'), message })),
    ...(needsKey(sources) && keyOf(key) === null ? [NO_KEY] : []),
  ];
  if (!data || faults.length > 0) return refuse(faults);
  return { ...record, email: data.email, user: data, remarks: [] };
};

/** Collects the values of a user's fields. `username` is also read, in case it contains the address, unless `email` is mapped. */
const inputOf = (fields: Record<string, unknown>, sources: Sources, profiles: ProfileValues) => {
  const input: Record<string, unknown> = {};
  for (const [target, { model, field }] of sources) {
    if (model !== null) input[target] = profiles.get(`${model}.${field}`);
    else if (Object.hasOwn(fields, field)) input[target] = fields[field];
  }
  const address = sources.get('email');
  const isNamed = address !== undefined && (address.model !== null || address.field !== 'email');
  return isNamed ? input : { ...input, username: fields.username };
};

const needsKey = (sources: Sources): boolean => [...sources.values()].some(({ model }) => model !== null);

const NO_KEY = {
  field: 'pk',
  message: 'Is needed to find the records of this user: dump without --natural-primary.',
};

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The normalized address in `email`, else in `username`. */
const addressIn = ({ email, username }: Record<string, unknown>): unknown =>
  [email, username].map((text) => NewEmail.safeParse(text).data).find((address) => address !== undefined);

/** For reports. */
const shown = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number'
    ? printable(String(value).slice(0, MAX_EMAIL_LENGTH).toWellFormed())
    : '';
