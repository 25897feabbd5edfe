import { z } from 'zod';
import { isJsonObject, isStorableText } from '../../lib/json-value.ts';
import { isSlug, isVersion } from '../../lib/package-name.ts';
import { AttributeSchema } from '../attributes/attribute-schema.ts';
import { Persona } from './package-personas.ts';

export const MANIFEST_FILE = 'app.yaml';

const MAX_STACKS = 200;
const MAX_ROLES = 50;
const MAX_PERSONAS = 100;
const MAX_METADATA_CHARACTERS = 64 * 1024;
/** The largest PostgreSQL integer. */
const MAX_ID = 2 ** 31 - 1;

const Text = (maxLength: number) =>
  z
    .string()
    .max(maxLength, `is longer than ${maxLength} characters`)
    .refine(isStorableText, 'has a NUL or half a character');

/** Whether JSON preserves the value and the database can store it. */
const isPlainData = (value: unknown): boolean => {
  let plain = true;
  const text = JSON.stringify(value, (key, item: unknown) => {
    const storable =
      typeof item === 'string' ? isStorableText(item) : typeof item !== 'number' || Number.isFinite(item);
    plain &&= storable && isStorableText(key);
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

const AppRole = z.object({ key: Slug, label: Label, description: Text(2_000).default('') });

const AppRoles = z
  .array(AppRole)
  .max(MAX_ROLES, `has more than ${MAX_ROLES} entries`)
  .refine((roles) => new Set(roles.map(({ key }) => key)).size === roles.length, 'has a key twice');

/** Not `z.record`, which drops a key `__proto__`. */
const Metadata = z
  .custom<Record<string, unknown>>(isJsonObject, 'must be a mapping')
  .refine(isPlainData, `must be plain data of at most ${MAX_METADATA_CHARACTERS} characters as JSON`);

const MAX_URL_CHARACTERS = 2048;

/** Users are sent there with a code in the query. Empty means none. */
const LaunchUrl = Text(MAX_URL_CHARACTERS).refine(
  (text) => text === '' || isLaunchUrl(URL.parse(text)),
  'must be an http(s) URL without a password and without #',
);

export const isLaunchUrl = (url: URL | null): boolean =>
  url !== null &&
  /^https?:$/.test(url.protocol) &&
  url.username === '' &&
  url.password === '' &&
  !url.href.includes('#');

export const PackageManifest = z.object({
  slug: Slug,
  version: z.string().refine(isVersion, 'must be a semantic version such as 1.2.0'),
  label: Label,
  description: Text(10_000).default(''),
  help_html: Text(100_000).default(''),
  footer_html: Text(100_000).default(''),
  show_help: z.boolean().default(false),
  show_footer: z.boolean().default(false),
  /** Where users open the app. */
  launch_url: LaunchUrl.default(''),
  /** Whether the app changes nothing while `read_only` is true in its ticket, so that others may look at it as a person. */
  view_as: z.boolean().default(false),
  stacks: Stacks.default([]),
  /** The data permissions that the app understands. Without it, the app gets any. */
  attributes: AttributeSchema.optional(),
  /** The roles that grants and groups can give in the app. */
  roles: AppRoles.default([]),
  personas: z.array(Persona).max(MAX_PERSONAS).default([]),
  /** The id of the app's client; default: the client of the site. */
  client: z.int().min(1, 'must be positive').max(MAX_ID, 'is too large').optional(),
  metadata: Metadata.default({}),
});
export type PackageManifest = z.output<typeof PackageManifest>;
