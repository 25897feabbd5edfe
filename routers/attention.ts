import { z } from 'zod';
import { UNUSED_DAYS } from '../src/services/apps/app-rows.ts';
import type { Attention } from '../src/services/attention/attention.ts';
import { appIdentity } from './apps.ts';
import { MailOutput, mailOutput } from './mail.ts';
import { routesOf } from './procedure-meta.ts';
import { OptionalInput } from './schemas/fields.ts';
import { Id } from './schemas/keys.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { personIdentity } from './schemas/users.ts';
import { peopleProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Users');

/** `count` items match `filter`, which is input of the list procedure; `items` has up to five of them. */
const Section = <T extends z.ZodType, F extends z.ZodRawShape>(item: T, filter: F) =>
  z.object({ count: z.int(), items: z.array(item), filter: z.object(filter) });

const AttentionUser = Output('AttentionUser', {
  ...personIdentity,
  last_login: Instant.nullable(),
});

const AttentionApp = Output('AttentionApp', { ...appIdentity, maintenance_message: z.string() });

const AttentionInvitation = Output('AttentionInvitation', {
  id: z.int(),
  client: z.int(),
  email: z.string(),
  expires_at: Instant,
});

/** Part of the filter for a client, and for admins of a single one. */
const OnlyClient = z.int().optional();

const HeldDirectory = Output('HeldDirectory', {
  client: z.int(),
  client_name: z.string(),
  /** People whose membership may end only after an approval. */
  people: z.int(),
});

const AttentionOutput = Output('Attention', {
  /** The directories that wait for an approval. */
  held_directories: z.array(HeldDirectory),
  /** Failed mails; with the filter for `mail.list`. */
  failed_mails: Section(MailOutput, { status: z.literal('failed'), client: OnlyClient }),
  /** Pending invitations that expire within three days; with the filter for `invitations.search`. */
  expiring_invitations: Section(AttentionInvitation, {
    status: z.literal('pending'),
    expires_before: Instant,
    client: OnlyClient,
  }),
  /** Apps without use in the last `UNUSED_DAYS`; with the filter for `apps.list`. */
  unused_apps: Section(AttentionApp, { is_unused: z.boolean(), client: OnlyClient }),
  /** Apps that were added in the last `UNUSED_DAYS` and have no use yet; with the filter for `apps.list`. */
  new_apps: Section(AttentionApp, {
    never_used: z.boolean(),
    is_unused: z.boolean(),
    client: OnlyClient,
  }),
  apps_in_maintenance: Section(AttentionApp, { in_maintenance: z.boolean(), client: OnlyClient }),
  /** Active users who neither logged in nor used an app for 90 whole UTC days, longest absent first; with the filter for `users.list`. */
  idle_users: Section(AttentionUser, {
    is_active: z.boolean(),
    last_seen_before: Instant,
    client: OnlyClient,
  }),
  expired_passwords: Section(AttentionUser, { password_expired: z.boolean(), client: OnlyClient }),
});

const withClient = <T extends { client_id: number }>(row: T) => ({ ...row, client: row.client_id });

const mapItems = <T, F, V>(
  { items, ...section }: { items: T[]; count: number; filter: F },
  view: (item: T) => V,
) => ({ ...section, items: items.map(view) });

const attentionOutput = (attention: Attention): z.input<typeof AttentionOutput> => ({
  ...attention,
  failed_mails: mapItems(attention.failed_mails, mailOutput),
  expiring_invitations: mapItems(attention.expiring_invitations, withClient),
  unused_apps: mapItems(attention.unused_apps, withClient),
  new_apps: mapItems(attention.new_apps, withClient),
  apps_in_maintenance: mapItems(attention.apps_in_maintenance, withClient),
});

/** Which steps of the first minutes are done. */
const SetupOutput = Output('Setup', {
  app: z.boolean(),
  /** Someone was given an app, or invited to one, alone or by a group. */
  invitation: z.boolean(),
  /** A member opened an app. */
  visit: z.boolean(),
  /** A client has an active admin, or has invited one. */
  admin: z.boolean(),
  /** A client has a second factor policy or an active provider. */
  sign_in: z.boolean(),
});

export const attentionRouter = router({
  get: route(viewerProcedure, 'GET', '/jb/attention/', {
    summary: 'Get what needs your attention',
    description: `Failed mails, invitations that expire within three days, apps without use in ${UNUSED_DAYS} days, new apps without use, apps in maintenance, active users who neither logged in nor used an app for 90 days, and expired passwords: the number of each, the first five, and the filter with which the list returns all of them. Of a client, or of all that you can see.`,
    problems: ['not-found'],
  })
    .input(OptionalInput({ client: Id.optional() }))
    .output(AttentionOutput)
    .query(async ({ ctx, input }) =>
      attentionOutput(await ctx.services.attention.read(ctx.actor, input.client)),
    ),

  setup: route(peopleProcedure, 'GET', '/jb/attention/setup/', {
    summary: 'Get what a new client still needs',
    description:
      'The steps until someone opens an app, of a client or of all clients whose people you manage. Each is read from what exists.',
    problems: ['not-found'],
  })
    .input(OptionalInput({ client: Id.optional() }))
    .output(SetupOutput)
    .query(({ ctx, input }) => ctx.services.setup.read(ctx.actor, input.client)),
});
