import { z } from 'zod';
import { parseNetwork } from '../src/lib/ip-networks.ts';
import { isJsonObject, isStorableText } from '../src/lib/json-value.ts';
import { invalid } from '../src/lib/problems.ts';
import type { AccessViewRow } from '../src/services/gate/access-views.ts';
import type { Context } from './context.ts';
import { routesOf } from './procedure-meta.ts';
import { changesOf, Expiry, Extra, OptionalInput, Text } from './schemas/fields.ts';
import { EmailKey, INT4_MAX, Slug } from './schemas/keys.ts';
import { listOf, pagingFields, streamFormat, toPageRequest } from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { createRowEncoder, type ListFormat } from './schemas/row-encoder.ts';
import { allowedTo, appProcedure, router } from './trpc.ts';

const AccessViewOutput = Output('AccessView', {
  id: z.int(),
  /** Empty for callers who may not open the app with the view, like `url`. */
  key: z.string(),
  /** Slug. */
  app: z.string(),
  /** Email address; null if it is for anyone. */
  user: z.string().nullable(),
  is_active: z.boolean(),
  /** 0: unlimited. */
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
  /** By which admins tell views apart. */
  label: z.string(),
});

/** The URL to open or to embed. */
const urlOf = (key: string, { baseUrl }: Context): string => (key === '' ? '' : `${baseUrl}/v/${key}/`);

const accessViewOutput =
  (ctx: Context) =>
  <Row extends AccessViewRow>(view: Row) => ({ ...view, url: urlOf(view.key, ctx) });

/** Encodes rows as `accessViewOutput` does. The URL is made from the column of the key. */
const accessViewEncoder = (format: ListFormat, ctx: Context) =>
  createRowEncoder(AccessViewOutput, format, { url: (key) => urlOf(key ?? '', ctx) });

/** A use of an access view, with the settings of the view at that time. */
const AccessViewUseOutput = Output('AccessViewUse', {
  /** Empty when `key` of the view is. */
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
  id: z.int(),
});

/** An id or a key. Any text is accepted: an unknown one is not found. */
const AccessViewKey = Text(255);

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

/** The app by slug and the user by address, each under one of two names. */
const subject = {
  app: Text(255).optional(),
  app_slug: Text(255).optional(),
  user: EmailKey.nullish(),
  user_email: EmailKey.nullish(),
};

const NewAccessView = z.object({
  ...subject,
  label: Text(100).trim().default(''),
  is_active: z.boolean().default(true),
  allowed_uses_cnt: z.int().min(0).max(INT4_MAX).default(1),
  expires_at: Expiry.default(null),
  data_permissions: Extra.nullable().default(null),
  selections: Extra.default({}),
  stack_slug: StackSlug.default(null),
  flags: Flags.default({}),
  autorotate: z.boolean().default(false),
  allowed_networks: Networks.default([]),
  show_header: z.boolean().default(true),
  show_footer: z.boolean().default(true),
  language_code: LanguageCode.default(''),
});

const AccessViewChanges = changesOf(NewAccessView.shape);

type Fields = z.output<typeof AccessViewChanges>;

/** The columns of the given fields. */
const toColumns = ({ app, app_slug, user, user_email, allowed_uses_cnt, ...fields }: Fields) => ({
  ...fields,
  allowed_uses: allowed_uses_cnt,
  // An empty object means the data permissions of the user, like null.
  data_permissions: isEmptyObject(fields.data_permissions) ? null : fields.data_permissions,
});

const isEmptyObject = (value: object | null | undefined): boolean =>
  value ? Object.keys(value).length === 0 : false;

/**
 * The app and the user, under whichever name; undefined if not given.
 * @throws Problem `invalid-input` if both names are given with different values
 */
const toSubject = (given: Pick<Fields, keyof typeof subject>) => {
  const { app = given.app_slug, user = given.user_email } = given;
  if (given.app_slug !== undefined && given.app_slug !== app)
    throw invalid({ app_slug: ['Must be the same as app.'] });
  if (given.user_email !== undefined && given.user_email !== user)
    throw invalid({ user_email: ['Must be the same as user.'] });
  return { app, user };
};

const MAX_FLAG_FILTERS = 10;

/** Values by flag; all must match. Not a record of zod, which would drop the key `__proto__`. */
const FlagFilter = z
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

const route = routesOf('Access views', { hasSecrets: true });
const ByKey = z.object({ key: AccessViewKey });
const path = '/access_views/';

/** Those who manage them, and staff, who see no keys. */
const viewLinks = allowedTo('client', 'manage-apps', 'operate');

export const accessViewsRouter = router({
  /** A page of the console's list. It has no REST path, so that it can change with the screen. */
  screen: viewLinks
    .meta({ rest: { hasSecrets: true } })
    .input(
      z.object({
        app: Slug,
        cursor: AccessViewKey.optional(),
        limit: z.int().min(1).max(200).default(50),
      }),
    )
    .output(
      z.array(
        z.object({
          ...AccessViewOutput.shape,
          /** False if the view opens nothing because its person is inactive, or suspended in the client. */
          is_person_active: z.boolean(),
          /** Empty if the reader may not know it, or if it is for anyone. */
          person_name: z.string(),
          last_used: Instant.nullable(),
        }),
      ),
    )
    .query(async ({ ctx, input: { app, ...page } }) => {
      const views = await ctx.services.accessViews.screen(ctx.actor, app, page);
      return views.map(accessViewOutput(ctx));
    }),

  list: route(viewLinks, 'GET', path, {
    summary: 'List access views',
    description:
      'Of the apps that you manage, or for staff of all apps, newest first. `key` and `url` are empty for those who may not open the app with them. `?flags.{name}={value}` returns those whose `flags` have this value; several must all match. `cursor` is the id or key of the last access view of the previous page.',
    problems: ['not-found'],
    dotted: 'flags',
  })
    .input(
      OptionalInput({
        app: Slug.optional(),
        user: EmailKey.optional(),
        flags: FlagFilter,
        ...pagingFields(AccessViewKey),
      }),
    )
    .output(listOf(AccessViewOutput))
    .query(async ({ ctx, input }) => {
      const { accessViews } = ctx.services;
      const format = streamFormat(ctx, input);
      if (format && input.cursor === undefined)
        return accessViews.stream(ctx.actor, input, accessViewEncoder(format, ctx));
      const views = await accessViews.list(ctx.actor, input, toPageRequest(ctx, input));
      return views.map(accessViewOutput(ctx));
    }),

  get: route(viewLinks, 'GET', `${path}{key}/`, {
    summary: 'Get an access view',
    description:
      'By its id or current key. Without its key and URL for those who may not open the app with them, who find it only by its id.',
    volatileFields: ['usages_cnt'],
  })
    .input(ByKey)
    .output(AccessViewOutput)
    .query(({ ctx, input }) =>
      ctx.services.accessViews.get(ctx.actor, input.key).then(accessViewOutput(ctx)),
    ),

  create: route(appProcedure, 'POST', path, {
    summary: 'Create an access view',
    description:
      'Its `url` opens the app without a login, as often as `allowed_uses_cnt` says (0: any number). With a `user`, who must be able to open the app, the app opens as them. `data_permissions` replace the data permissions of the user. Accepts JSON and forms.',
    problems: ['reauthentication-required'],
    status: 201,
    forms: true,
    resourceQuery: 'accessViews.get',
  })
    .input(NewAccessView.prefault({}))
    .output(AccessViewOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.accessViewChanges
        .create(ctx.actor, toSubject(input), toColumns(input))
        .then(accessViewOutput(ctx)),
    ),

  update: route(appProcedure, 'PATCH', `${path}{key}/`, {
    summary: 'Update an access view',
    description:
      'Omitted fields stay unchanged. The app and the user cannot be changed. Accepts JSON and forms. Deactivating the view needs no recent password.',
    problems: ['reauthentication-required'],
    forms: true,
    resourceQuery: 'accessViews.get',
  })
    .input(AccessViewChanges.extend({ key: AccessViewKey }))
    .output(AccessViewOutput)
    .mutation(({ ctx, input: { key, ...changes } }) =>
      ctx.services.accessViewChanges
        .update(ctx.actor, key, toSubject(changes), toColumns(changes))
        .then(accessViewOutput(ctx)),
    ),

  rotateKey: route(appProcedure, 'POST', `${path}{key}/rotate_key/`, {
    summary: 'Replace the key of an access view',
    description:
      'For a link that leaked. Its former URL opens the app no longer, and what it had opened ends: codes, embedded pages and tickets.',
  })
    .input(ByKey)
    .output(AccessViewOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.accessViewChanges.rotateKey(ctx.actor, input.key).then(accessViewOutput(ctx)),
    ),

  deactivate: route(appProcedure, 'DELETE', `${path}{key}/`, {
    summary: 'Deactivate an access view',
    description: 'It opens the app no longer. Nothing is removed: an update can activate it again.',
    resourceQuery: 'accessViews.get',
  })
    .input(ByKey)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.accessViewChanges.deactivate(ctx.actor, input.key)),

  uses: route(viewLinks, 'GET', `${path}{key}/usage/`, {
    summary: 'List the uses of an access view',
    description:
      'By its id or current key. Newest first, each with what applied at that time. `cursor` is the id of the last use of the previous page.',
  })
    .input(ByKey.extend(pagingFields(z.int().min(1))))
    .output(listOf(AccessViewUseOutput))
    .query(async ({ ctx, input }) => {
      const { accessViews } = ctx.services;
      const format = streamFormat(ctx, input);
      if (format && input.cursor === undefined)
        return accessViews.streamUses(ctx.actor, input.key, createRowEncoder(AccessViewUseOutput, format));
      return accessViews.uses(ctx.actor, input.key, toPageRequest(ctx, input));
    }),

  /** Each call creates a view, so over tRPC it is a mutation. Over REST it is a GET, as in the replaced service. */
  embed: route(appProcedure, 'GET', '/jb/apps/{app}/embed/{email}/', {
    summary: 'Get a URL that embeds an app once',
    description:
      'Of an app, by its id or slug, for a user who can open it. The URL works once, within 60 seconds; what it opens lasts for up to 12 hours. Each request makes another URL. Needs an API token: browser sessions are refused.',
  })
    .input(z.object({ app: Text(255), email: EmailKey }))
    .output(z.object({ url: z.string() }))
    .mutation(async ({ ctx, input: { app, email } }) => {
      const key = await ctx.services.oneTimeViews.create(ctx.actor, app, email);
      return { url: urlOf(key, ctx) };
    }),
});
