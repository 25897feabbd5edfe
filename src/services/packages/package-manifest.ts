import { z } from 'zod';
import { isJsonObject } from '../../lib/json-value.ts';
import { isSlug, isVersion } from '../../lib/package-name.ts';
import { type FieldErrors, Problem } from '../../lib/problems.ts';
import { parseYaml } from './package-yaml.ts';

export const MANIFEST_FILE = 'app.yaml';

const MAX_STACKS = 200;
const MAX_METADATA_CHARACTERS = 64 * 1024;
/** The largest PostgreSQL integer. */
const MAX_ID = 2 ** 31 - 1;

/** PostgreSQL stores neither NUL nor half a surrogate pair. */
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

const Text = (maxLength: number) =>
  z
    .string()
    .max(maxLength, `is longer than ${maxLength} characters`)
    .refine(isStorable, 'has a NUL or half a character');

/** Whether JSON preserves the value and the database can store it. `value` has no cycles. */
const isPlainData = (value: unknown): boolean => {
  let plain = true;
  const text = JSON.stringify(value, (key, item: unknown) => {
    const storable =
      typeof item === 'string' ? isStorable(item) : typeof item !== 'number' || Number.isFinite(item);
    plain &&= storable && isStorable(key);
    return item;
  });
  return plain && text.length <= MAX_METADATA_CHARACTERS;
};

const Label = Text(255).refine((text) => text.trim() !== '', 'is blank');
const Slug = z.string().refine(isSlug, 'must be 1–64 of a–z, 0–9, - and _');

const StackEntry = z.object({ slug: Slug, label: Label });

const Stacks = z
  .array(StackEntry)
  .max(MAX_STACKS, `has more than ${MAX_STACKS} entries`)
  .refine((stacks) => new Set(stacks.map(({ slug }) => slug)).size === stacks.length, 'has a slug twice');

/** Not `z.record`, which drops a key `__proto__`. */
const Metadata = z
  .custom<Record<string, unknown>>(isJsonObject, 'must be a mapping')
  .refine(isPlainData, `must be plain data of at most ${MAX_METADATA_CHARACTERS} characters as JSON`);

export const PackageManifest = z.object({
  slug: Slug,
  version: z.string().refine(isVersion, 'must be a semantic version such as 1.2.0'),
  label: Label,
  description: Text(10_000).default(''),
  help_html: Text(100_000).default(''),
  footer_html: Text(100_000).default(''),
  show_help: z.boolean().default(false),
  show_footer: z.boolean().default(false),
  stacks: Stacks.default([]),
  /** The id of the app's client; default: the client of the site. */
  client: z.int().min(1, 'must be positive').max(MAX_ID, 'is too large').optional(),
  metadata: Metadata.default({}),
});
export type PackageManifest = z.output<typeof PackageManifest>;

/** Keeps the response to a hostile file small. */
const MAX_FAULTS = 50;

/**
 * Parses and validates an `app.yaml`.
 * @throws Problem `invalid-package`, with every invalid field in `fields`
 */
export const parseManifest = (bytes: Uint8Array): PackageManifest => {
  const { data, error } = PackageManifest.safeParse(withoutNulls(parseYaml(MANIFEST_FILE, bytes)), {
    error: describe,
  });
  if (data) return data;
  throw invalidManifest(error);
};

/** In YAML, `description:` without a value is null. It means the same as no `description`. */
const withoutNulls = (value: unknown): unknown =>
  isJsonObject(value) ? Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null)) : value;

const TYPES: Record<string, string> = {
  string: 'text (put it in quotes)',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
  array: 'a list',
  object: 'a mapping',
};

/** Predicates: a field and its message form a sentence. */
const describe = (issue: z.core.$ZodRawIssue): string | undefined => {
  if (issue.code !== 'invalid_type') return undefined;
  return issue.input === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}`;
};

const invalidManifest = ({ issues }: z.core.$ZodError): Problem => {
  const faults = issues.slice(0, MAX_FAULTS).map(({ path, message }) => ({ field: path.join('.'), message }));
  const fields: FieldErrors = {};
  for (const { field, message } of faults) {
    const key = field === '' ? 'app_yaml' : field;
    fields[key] ??= [];
    fields[key].push(message);
  }
  const shown = faults.slice(0, 10).map(({ field, message }) => `${field} ${message}`.trim());
  const more = issues.length > shown.length ? `, and ${issues.length - shown.length} more` : '';
  return new Problem('invalid-package', { detail: `${MANIFEST_FILE}: ${shown.join('; ')}${more}.`, fields });
};
