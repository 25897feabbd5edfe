import { z } from 'zod';
import { canonicalMailbox } from '../src/lib/email-address.ts';
import { originOf } from '../src/lib/urls.ts';
import { AppSummaryOutput } from './apps.ts';
import { branding } from './branding.ts';
import { factorPolicyProcedures } from './clients-factor-policy.ts';
import { clientRemovalProcedures } from './clients-removal.ts';
import { routesOf } from './procedure-meta.ts';
import { EmailAddress, Html, NewEmail, OptionalInput, Text } from './schemas/fields.ts';
import {
  ClientInvitationOutput,
  invitationFilter,
  invitationOffer,
  invitationOutput,
  inviteeNames,
} from './schemas/invitations.ts';
import { AppKey, ById, distinct, Id, IdCursor, IdKey } from './schemas/keys.ts';
import { listOf, pagingFields, streamFormat, toPageRequest } from './schemas/lists.ts';
import { Output } from './schemas/outputs.ts';
import { ClientUserOutput, userEncoder, userFilter, userOutput } from './schemas/users.ts';
import { SiteOutput } from './sites.ts';
import {
  memberProcedure,
  peopleProcedure,
  router,
  settingsProcedure,
  superuserProcedure,
  viewerProcedure,
} from './trpc.ts';

/** What passwords may or must contain. */
const passwordFlags = {
  password_allow_common: z.boolean(),
  password_require_numeric: z.boolean(),
  password_require_upper: z.boolean(),
  password_require_lower: z.boolean(),
  password_require_special: z.boolean(),
};

/** Who else may look at apps as members, and whether the members get a mail. */
const viewAsFlags = { help_desk_may_view_as: z.boolean(), mail_view_as: z.boolean() };

const ClientOutput = Output('Client', {
  id: z.int(),
  site: z.object({ domain: z.string(), formatted_name: z.string().meta({ examples: ['localhost'] }) }),
  name: z.string(),
  default_from_email: z.string(),
  invitation_subject: z.string(),
  invitation_body: z.string(),
  ...branding,
  password_min_length: z.int().meta({ examples: [8] }),
  ...passwordFlags,
  password_expiration_days: z.int().meta({ examples: [0] }),
  ...viewAsFlags,
});

/** A client in numbers. */
const ClientOverviewOutput = Output('ClientOverview', {
  id: z.int(),
  name: z.string(),
  domain: z.string(),
  is_open: z.boolean(),
  /** Active members. */
  people: z.int().meta({ examples: [12] }),
  admins: z.int().meta({ examples: [1] }),
  /** People with other roles than that of an admin. */
  delegates: z.int().meta({ examples: [2] }),
  apps: z.int().meta({ examples: [3] }),
  /** The last day on which someone used one of its apps. */
  last_used_day: z.string().nullable(),
});

/** Who may open the apps of a client. */
const ClientGateOutput = Output('ClientGate', {
  /** The apps of a closed client do not open. */
  is_open: z.boolean(),
  /** Sites whose pages may show its apps in frames. */
  embed_origins: z.array(z.string()),
});

const MAX_ORIGINS = 50;
/** Bounds the header X-Steward-Frame-Ancestors: proxies accept 4 KB. */
const MAX_ORIGINS_LENGTH = 4_000;

const Origin = Text(255).transform((text, context) => {
  const origin = originOf(text);
  if (origin !== null) return origin;
  context.addIssue({ code: 'custom', message: 'Must be an origin, such as https://portal.example.com.' });
  return z.NEVER;
});

const EmbedOrigins = distinct(Origin, MAX_ORIGINS).refine(
  (origins) => origins.join(' ').length <= MAX_ORIGINS_LENGTH,
  `Must have at most ${MAX_ORIGINS_LENGTH} characters in total.`,
);

const Line = Text(255).regex(/^[^\r\n]*$/, 'Must not contain line breaks.');
const ClientName = Line.regex(/\S/, 'Must not be empty.');
/** An email address; an empty string removes it. */
const NOT_A_SENDER = 'Must be an email address, such as ops@acme.test or Acme Ops <ops@acme.test>, or empty.';
const OptionalEmail = z.union([z.literal(''), EmailAddress], 'Must be an email address or empty.');
/** As mail programs accept a sender: an address, optionally with a name before it. An empty string removes it. */
const Sender = z
  .union([OptionalEmail, Line.transform((text) => canonicalMailbox(text)).pipe(z.string())], NOT_A_SENDER)
  .meta({ json: { type: 'string', maxLength: 255 } });
/** A path, an http(s) URL, or an empty text for `/`. Other URLs are unsafe as redirect targets. */
const Location = Text(2048).regex(/^((\/(?![/\\])|https?:\/\/)\S*)?$/, 'Must be a path or an http(s) URL.');

const ClientChanges = z.object({
  name: ClientName,
  default_from_email: Sender,
  invitation_subject: Line,
  invitation_body: Html,
  login_title: Line,
  login_subtitle: Line,
  support_email: OptionalEmail,
  home_location: Location,
  subtitle_404: Line,
  message_404: Html,
  subtitle_500: Line,
  message_500: Html,
  /** Stored as sent. Passwords need at least `PASSWORD_MIN_LENGTH` in any case. */
  password_min_length: z.int().min(0).max(128),
  ...passwordFlags,
  password_expiration_days: z.int().min(0).max(3650),
  ...viewAsFlags,
});

/** The texts of an invitation mail. */
const InvitationTexts = ClientChanges.pick({
  name: true,
  default_from_email: true,
  invitation_subject: true,
  invitation_body: true,
  support_email: true,
}).partial();

const InvitationPreviewOutput = Output('InvitationPreview', {
  from: z.object({ name: z.string(), address: z.string() }),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
});

const route = routesOf('Clients');

const ExpectedClient = ClientOutput.omit({ id: true, site: true }).partial();

export const clientsRouter = router({
  list: route(viewerProcedure, 'GET', '/jb/clients/', { summary: 'List clients', legacy: true })
    .input(OptionalInput(pagingFields(IdCursor)))
    .output(z.array(ClientOutput))
    .query(({ ctx, input }) => ctx.services.clients.list(ctx.actor, toPageRequest(ctx, input))),

  overview: route(viewerProcedure, 'GET', '/jb/client-overviews/', {
    summary: 'List clients with their numbers of people and apps',
    description: 'By name. All that you can see, or the one with the id `client`.',
  })
    .input(OptionalInput({ client: IdKey.optional() }))
    .output(z.array(ClientOverviewOutput))
    .query(({ ctx, input }) => ctx.services.clients.overview(ctx.actor, input.client)),

  get: route(viewerProcedure, 'GET', '/jb/clients/{id}/', { summary: 'Get a client', legacy: true })
    .input(ById)
    .output(ClientOutput)
    .query(({ ctx, input }) => ctx.services.clients.get(ctx.actor, input.id)),

  update: route(settingsProcedure, 'PATCH', '/jb/clients/{id}/', {
    summary: 'Update a client',
    description: 'Its texts and its password policy. Omitted fields stay unchanged.',
    resourceQuery: 'clients.get',
    example: { login_title: 'Welcome back', password_min_length: 10 },
    legacy: true,
  })
    .input(ClientChanges.partial().extend({ id: IdKey, expected: ExpectedClient.optional() }))
    .output(ClientOutput)
    .mutation(({ ctx, input: { id, expected, ...changes } }) =>
      ctx.services.clients.update(ctx.actor, id, changes, expected),
    ),

  site: route(memberProcedure, 'GET', '/jb/clients/{id}/site/', {
    summary: 'Get the site of a client',
    legacy: true,
  })
    .input(ById)
    .output(SiteOutput)
    .query(({ ctx, input }) => ctx.services.sites.getByClient(ctx.actor, input.id)),

  users: route(viewerProcedure, 'GET', '/jb/clients/{id}/users/', {
    summary: 'List the users of a client',
    legacy: true,
  })
    .input(ById.extend(userFilter))
    .output(listOf(ClientUserOutput))
    .query(async ({ ctx, input }) => {
      const filter = { ...input, client: input.id };
      const format = streamFormat(ctx, input);
      if (format)
        return ctx.services.users.stream(ctx.actor, filter, userEncoder(ClientUserOutput, format, ctx));
      const users = await ctx.services.users.list(ctx.actor, filter, toPageRequest(ctx, input));
      return users.map(userOutput(ctx));
    }),

  apps: route(viewerProcedure, 'GET', '/jb/clients/{id}/apps/', {
    summary: 'List the apps of a client',
    legacy: true,
  })
    .input(ById.extend(pagingFields(AppKey)))
    .output(z.array(AppSummaryOutput))
    .query(({ ctx, input }) => ctx.services.apps.ofClient(ctx.actor, input.id, toPageRequest(ctx, input))),

  invitations: route(viewerProcedure, 'GET', '/jb/clients/{id}/users/invitations/', {
    summary: 'List the invitations of a client',
    description: 'Pending invitations, unless `status` is set.',
    legacy: true,
  })
    .input(ById.extend(invitationFilter))
    .output(listOf(ClientInvitationOutput))
    .query(async ({ ctx, input }) => {
      const filter = { ...input, client: input.id };
      const invitations = await ctx.services.invitations.list(ctx.actor, filter, toPageRequest(ctx, input));
      return invitations.map(invitationOutput(ctx));
    }),

  invite: route(peopleProcedure, 'POST', '/jb/clients/{id}/users/invitations/', {
    summary: 'Invite a user to a client',
    problems: ['throttled', 'reauthentication-required'],
    example: { email: 'guest@acme.test', extra: { team: 'north' }, initial_apps: ['zylTKNVx'] },
    legacy: true,
  })
    .input(ById.extend({ email: NewEmail, ...inviteeNames, ...invitationOffer }))
    .output(ClientInvitationOutput)
    .mutation(({ ctx, input: { id, ...invitation } }) =>
      ctx.services.invitations.createForClient(ctx.actor, id, invitation).then(invitationOutput(ctx)),
    ),

  previewInvitation: route(viewerProcedure, 'POST', '/jb/clients/{id}/invitation-preview/', {
    summary: 'Preview the invitation mail of a client',
    hasSecrets: true,
    description: 'With the given texts, or else the saved ones. Nothing is saved or sent.',
  })
    .input(ById.extend(InvitationTexts.shape))
    .output(InvitationPreviewOutput)
    .mutation(({ ctx, input: { id, ...texts } }) =>
      ctx.services.mails.previewInvitation(ctx.actor, id, texts),
    ),

  gate: route(viewerProcedure, 'GET', '/jb/clients/{id}/gate/', {
    summary: 'Get who may open the apps of a client',
  })
    .input(ById)
    .output(ClientGateOutput)
    .query(({ ctx, input }) => ctx.services.clients.get(ctx.actor, input.id)),

  updateGate: route(settingsProcedure, 'PATCH', '/jb/clients/{id}/gate/', {
    summary: 'Change who may open the apps of a client',
    description:
      'The apps of a closed client do not open, and its members do not see them; superusers close and reopen it. Pages of the `embed_origins` may show its apps in frames: Steward restricts its own pages, and sends the origins for the apps to proxies.',
    resourceQuery: 'clients.gate',
  })
    .input(ById.extend({ is_open: z.boolean().optional(), embed_origins: EmbedOrigins.optional() }))
    .output(ClientGateOutput)
    .mutation(({ ctx, input: { id, ...changes } }) =>
      ctx.services.clients.updateGate(ctx.actor, id, changes),
    ),

  create: route(superuserProcedure, 'POST', '/jb/clients/', {
    summary: 'Create a client',
    status: 201,
    resourceQuery: 'clients.get',
    example: { name: 'Initech' },
  })
    .input(z.object({ name: ClientName, site: Id }))
    .output(ClientOutput)
    .mutation(({ ctx, input }) => ctx.services.clients.create(ctx.actor, input)),

  ...factorPolicyProcedures,
  ...clientRemovalProcedures,
});
