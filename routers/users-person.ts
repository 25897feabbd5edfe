import { z } from 'zod';
import { SecondFactorOutput } from './mfa.ts';
import { routesOf } from './procedure-meta.ts';
import { ByEmail, EmailKey, Id } from './schemas/keys.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { PendingEmail } from './schemas/users.ts';
import { peopleProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Users');

/** The data of a person's screen. */
const PersonScreenOutput = z.object({
  /** A role in all clients. */
  role: z.enum(['superuser', 'staff']).nullable(),
  /** When the person last used an app; null if the caller can see no use. */
  last_use: z.object({ day: z.string(), app: z.string() }).nullable(),
  /** Null for callers who may not change the account. */
  account: z
    .object({
      has_password: z.boolean(),
      last_password_set: Instant,
      password_expires_at: Instant.nullable(),
      pending_email: PendingEmail.nullable(),
      /** A factor that was added while the person belonged to another client, which they have left, has neither a name nor times. */
      second_factors: z.array(SecondFactorOutput.extend({ confirmed_at: Instant.nullable() })),
      /** When the person must have a second factor that they lack; null if they have what is required. */
      factor_required_from: Instant.nullable(),
      /** Whether this factor must be a passkey. */
      needs_passkey: z.boolean(),
      /** The number of unused codes. */
      recovery_codes: z.int().nullable(),
    })
    .nullable(),
});

const MAX_DAYS = 100;

/** A day on which the person used apps, in UTC. The most used app comes first. */
const ActiveDayOutput = z.object({
  day: z.string(),
  apps: z.array(z.object({ id: z.string(), label: z.string(), actions: z.int() })),
});

const Name = Output('OffboardedItem', { id: z.string(), label: z.string() });

const OffboardingOutput = Output('OffboardingPreview', {
  /** Whether the account, or the memberships, are active now. */
  is_active: z.boolean(),
  /** False with `client`, and if the person also belongs to clients that the caller does not administer: then only `clients` are concerned. */
  deactivates_account: z.boolean(),
  /** The clients in which the membership is suspended if the account stays active. */
  clients: z.array(Output('OffboardedClient', { id: z.int(), name: z.string() })),
  /** Sessions and tokens end only with the account. */
  sessions: z.int(),
  tokens: z.int(),
  /** Granted apps, oldest first. */
  apps: z.array(Name),
  /** Names. */
  groups: z.array(z.string()),
  /** In words, such as `client admin of Acme Analytics`. */
  roles: z.array(z.string()),
  /** Access views that open apps as this person. */
  access_views: z.int(),
  /** Pending invitations. */
  invitations: z.int(),
  /** Mails that are not sent yet. */
  mails: z.int(),
  /** Pending requests for apps. */
  requests: z.int(),
});

export const personProcedures = {
  /** Has no REST path, so that it can change with the screen. */
  screen: viewerProcedure
    .input(ByEmail)
    .output(PersonScreenOutput)
    .query(({ ctx, input }) => ctx.services.screens.person(ctx.actor, input.email)),

  /** Has no REST path, so that it can change with the screen. */
  activity: viewerProcedure
    .input(
      z.object({
        email: EmailKey,
        /** The last day of the previous page. */
        cursor: z.iso.date().optional(),
        limit: z.int().min(1).max(MAX_DAYS).default(14),
      }),
    )
    .output(z.array(ActiveDayOutput))
    .query(({ ctx, input: { email, cursor, limit } }) =>
      ctx.services.screens.activity(ctx.actor, email, cursor, limit),
    ),

  previewOffboarding: route(peopleProcedure, 'GET', '/jb/users/{email}/offboarding/', {
    summary: 'Show what the offboarding of a user would end',
    description:
      'Changes nothing. `POST /jb/users/bulk/` with the action `offboard` ends it. Of a person whose account several clients share, only what they have in your clients; with `client`, only what they have there.',
    problems: ['self-modification'],
  })
    .input(ByEmail.extend({ client: Id.optional() }))
    .output(OffboardingOutput)
    .query(({ ctx, input }) => ctx.services.offboardingPreview.read(ctx.actor, input.email, input.client)),

  cancelEmailChange: route(peopleProcedure, 'DELETE', '/jb/users/{email}/email/', {
    summary: 'Cancel a change of the email address of a user',
    description:
      'Ends the link that was mailed to the new address, no matter who requested it. Without a change that waits for it, it changes nothing.',
    problems: ['shared-user'],
  })
    .input(ByEmail)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.emailChanges.cancel(ctx.actor, input.email)),
};
