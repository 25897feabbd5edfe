import { z } from 'zod';
import { parseNetwork } from '../../src/lib/ip-networks.ts';
import { isJsonObject, isStorableText, opaque } from '../../src/lib/json-value.ts';
import { invalid } from '../../src/lib/problems.ts';
import type {
  AccessViewEncoder,
  AccessViewRow,
  AccessViewUseEncoder,
  AccessViewUseRow,
} from '../../src/services/gate/access-views.ts';
import { AnyObject, EmailKey, Extra, Instant, InstantKey, Output, outputOf, Text } from './fields.ts';
import { createRowEncoder, type ListFormat } from './row-encoder.ts';

export const AccessViewOutput = Output('AccessView', {
  id: z.int(),
  /** Empty for those who may not open the app with it, as `url`. */
  key: z.string(),
  /** Slug. */
  app: z.string(),
  /** Email address; null if it is for anyone. */
  user: z.string().nullable(),
  is_active: z.boolean(),
  /** 0: any number. */
  allowed_uses_cnt: z.int(),
  usages_cnt: z.int(),
  expires_at: Instant.nullable(),
  data_permissions: AnyObject,
  selections: AnyObject,
  stack_slug: z.string().nullable(),
  flags: AnyObject,
  autorotate: z.boolean(),
  /** In CIDR notation, separated by commas. */
  allowed_networks: z.string(),
  show_header: z.boolean(),
  show_footer: z.boolean(),
  language_code: z.string(),
  created: Instant,
  modified: Instant,
  url: z.string(),
});

/** What to open or to embed. */
export const accessViewUrl = (key: string, baseUrl: string): string => `${baseUrl}/v/${key}/`;

const urlOf = (key: string, baseUrl: string): string => (key === '' ? '' : accessViewUrl(key, baseUrl));

export const accessViewOutput = (view: AccessViewRow, baseUrl: string) =>
  outputOf(AccessViewOutput, {
    ...view,
    data_permissions: opaque(view.data_permissions),
    selections: opaque(view.selections),
    flags: opaque(view.flags),
    url: urlOf(view.key, baseUrl),
  });

/** As `accessViewOutput`. */
export const accessViewEncoder = (format: ListFormat, baseUrl: string): AccessViewEncoder =>
  createRowEncoder(AccessViewOutput, format, {
    // The column has the key.
    url: (key) => urlOf(key ?? '', baseUrl),
  });

/** A use of an access view, with what applied at that time. */
export const AccessViewUseOutput = Output('AccessViewUse', {
  /** Empty as `key` of the view. */
  raw_key: z.string(),
  data_permissions: AnyObject,
  selections: AnyObject,
  app_slug: z.string(),
  stack_slug: z.string().nullable(),
  user_email: z.string().nullable(),
  autorotate: z.boolean(),
  show_header: z.boolean(),
  show_footer: z.boolean(),
  language_code: z.string(),
  ip_address: z.string(),
  user_agent: z.string(),
  timestamp: Instant,
});

export const accessViewUseOutput = (use: AccessViewUseRow) =>
  outputOf(AccessViewUseOutput, {
    ...use,
    data_permissions: opaque(use.data_permissions),
    selections: opaque(use.selections),
  });

/** As `accessViewUseOutput`. */
export const accessViewUseEncoder = (format: ListFormat): AccessViewUseEncoder =>
  createRowEncoder(AccessViewUseOutput, format);

/** An id or a key. Any text is accepted: an unknown one is not found. */
export const AccessViewKey = Text(255);

const INT4_MAX = 2_147_483_647;
const MAX_NETWORKS = 100;

/** The networks of a list that is separated by commas or spaces. */
const Networks = Text(10_000)
  .transform((list, context) => {
    const networks: string[] = [];
    for (const text of list.split(/[\s,]+/).filter(Boolean)) {
      const parsed = parseNetwork(text);
      if ('network' in parsed) networks.push(parsed.network);
      else context.addIssue({ code: 'custom', message: `${text.slice(0, 50)}: ${parsed.reason}` });
      if (context.issues.length === 10) break;
    }
    if (networks.length > MAX_NETWORKS)
      context.addIssue({ code: 'custom', message: `Must have at most ${MAX_NETWORKS} networks.` });
    return networks;
  })
  .meta({ json: { type: 'string', maxLength: 10_000 } });

/** PostgreSQL reads the texts of an object whenever it looks up one of its keys. */
const hasStorableTexts = (value: object): boolean => {
  let isStorable = true;
  JSON.stringify(value, (key, child: unknown) => {
    isStorable &&= isStorableText(key) && (typeof child !== 'string' || isStorableText(child));
    return child;
  });
  return isStorable;
};

const Flags = Extra.refine(hasStorableTexts, 'Must not contain null characters or invalid Unicode.');

/** An empty text and null mean none. */
const StackSlug = Text(64)
  .nullable()
  .transform((slug) => slug || null);

const LanguageCode = z.string().regex(/^([a-z]{2})?$/, 'Must be two lower-case letters, or empty.');

/** A time in a body, or null for none. */
const Expiry = z
  .union(
    [InstantKey, z.iso.datetime({ offset: true }).transform((text) => new Date(text))],
    'Must be a time such as 2026-01-31T12:00:00Z.',
  )
  .nullable()
  .meta({ json: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] } });

/** The app by its slug, and the user by their address, under either name. */
const subject = {
  app: Text(255).optional(),
  app_slug: Text(255).optional(),
  user: EmailKey.nullish(),
  user_email: EmailKey.nullish(),
};

const fields = {
  is_active: z.boolean(),
  allowed_uses_cnt: z.int().min(0).max(INT4_MAX),
  expires_at: Expiry,
  data_permissions: Extra.nullable(),
  selections: Extra,
  stack_slug: StackSlug,
  flags: Flags,
  autorotate: z.boolean(),
  allowed_networks: Networks,
  show_header: z.boolean(),
  show_footer: z.boolean(),
  language_code: LanguageCode,
};

export const NewAccessView = z.object({
  ...subject,
  ...fields,
  is_active: fields.is_active.default(true),
  allowed_uses_cnt: fields.allowed_uses_cnt.default(1),
  expires_at: fields.expires_at.default(null),
  data_permissions: fields.data_permissions.default(null),
  selections: fields.selections.default({}),
  stack_slug: fields.stack_slug.default(null),
  flags: fields.flags.default({}),
  autorotate: fields.autorotate.default(false),
  allowed_networks: fields.allowed_networks.default([]),
  show_header: fields.show_header.default(true),
  show_footer: fields.show_footer.default(true),
  language_code: fields.language_code.default(''),
});

export const AccessViewChanges = z.object({ ...subject, ...z.object(fields).partial().shape });

type Fields = z.output<typeof AccessViewChanges>;

/** The columns of these fields; undefined for those that are not given. */
export const toColumns = ({ app, app_slug, user, user_email, allowed_uses_cnt, ...fields }: Fields) => ({
  ...fields,
  allowed_uses: allowed_uses_cnt,
  // An empty object means those of the user, as null does.
  data_permissions: isEmptyObject(fields.data_permissions) ? null : fields.data_permissions,
});

const isEmptyObject = (value: object | null | undefined): boolean =>
  value ? Object.keys(value).length === 0 : false;

/**
 * The app and the user, whichever name they have; undefined if not given.
 * @throws Problem `invalid-input` if both names are used for different values
 */
export const toSubject = (given: Pick<Fields, keyof typeof subject>) => {
  const { app = given.app_slug, user = given.user_email } = given;
  if (given.app_slug !== undefined && given.app_slug !== app)
    throw invalid({ app_slug: ['Must be the same as app.'] });
  if (given.user_email !== undefined && given.user_email !== user)
    throw invalid({ user_email: ['Must be the same as user.'] });
  return { app, user };
};

const MAX_FLAG_FILTERS = 10;

/** Values by flag, which must all match. A record of zod would drop the name `__proto__`. */
export const FlagFilter = z
  .custom<Record<string, string>>()
  .superRefine((flags: unknown, context) => {
    const addError = (message: string, path: string[] = []) =>
      context.addIssue({ code: 'custom', message, path });
    if (!isJsonObject(flags)) return addError('Must be an object.');
    const entries = Object.entries(flags);
    if (entries.length > MAX_FLAG_FILTERS) return addError(`Must have at most ${MAX_FLAG_FILTERS} flags.`);
    for (const [name, value] of entries)
      if (!FlagText.safeParse(name).success || !FlagText.safeParse(value).success)
        addError('Must be a text of at most 255 characters, as must its name.', [name.slice(0, 255)]);
  })
  .optional()
  .meta({ json: { type: 'object', additionalProperties: { type: 'string', maxLength: 255 } } });

const FlagText = Text(255);
