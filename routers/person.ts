import { z } from 'zod';
import { Download } from '../src/lib/files.ts';
import { COUNTED } from '../src/services/data-rights/erasures.ts';
import { SecondFactorOutput } from './mfa.ts';
import { routesOf } from './procedure-meta.ts';
import { Email } from './schemas/fields.ts';
import { ByEmail, EmailKey } from './schemas/keys.ts';
import { downloadOf } from './schemas/lists.ts';
import { Instant, integers, Output } from './schemas/outputs.ts';
import { PendingEmail } from './schemas/users.ts';
import { accountProcedure, adminProcedure, superuserProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Users');

/** What the screen of a person shows, and only it. */
const PersonScreenOutput = z.object({
  /** A role in all clients. */
  role: z.enum(['superuser', 'staff']).nullable(),
  /** When the person last used an app. Null if never, as far as the caller may see. */
  last_use: z.object({ day: z.string(), app: z.string() }).nullable(),
  /** Null for callers who may not change the account. */
  account: z
    .object({
      has_password: z.boolean(),
      last_password_set: Instant,
      password_expires_at: Instant.nullable(),
      pending_email: PendingEmail.nullable(),
      /** Of one from the time in another client, which the person has left, neither name nor times. */
      second_factors: z.array(SecondFactorOutput.extend({ confirmed_at: Instant.nullable() })),
      /** From when on the person needs another second factor than they have; null if they have what is required. */
      factor_required_from: Instant.nullable(),
      /** Whether that is a passkey. */
      needs_passkey: z.boolean(),
      /** Unused ones. */
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
  /** False for a person who also belongs to clients that the caller does not administer: only `clients` are concerned. */
  deactivates_account: z.boolean(),
  /** The clients in which the person is suspended instead. */
  clients: z.array(Output('OffboardedClient', { id: z.int(), name: z.string() })),
  /** Sessions and tokens end with the account only. */
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

/** Of the router of users. */
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

  previewOffboarding: route(adminProcedure, 'GET', '/jb/users/{email}/offboarding/', {
    summary: 'Show what the offboarding of a user would end',
    description:
      'Changes nothing. `POST /jb/users/bulk/` with the action `offboard` ends it. Of a person whose account several clients share, only what they have in your clients.',
    problems: ['self-modification'],
  })
    .input(ByEmail)
    .output(OffboardingOutput)
    .query(({ ctx, input }) => ctx.services.offboardingPreview.read(ctx.actor, input.email)),

  cancelEmailChange: route(adminProcedure, 'DELETE', '/jb/users/{email}/email/', {
    summary: 'Cancel a change of the email address of a user',
    description:
      'Ends the link that was mailed to the new address, no matter who requested it. Without a change that waits for it, it changes nothing.',
    problems: ['shared-user'],
  })
    .input(ByEmail)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.emailChanges.cancel(ctx.actor, input.email)),
};

const ErasurePreview = z.object({
  ...integers(COUNTED),
  confirmation: z.string(),
  expires_at: Instant,
});

/** Rows of one part. The type is written out, because the client's types have none of services. */
type ExportPage = { part: string; items: Record<string, unknown>[] };

/** The name of a file, without characters that are unsafe in one or in a header. */
const fileNameOf = (email: string): string => `${email.replaceAll(/[^\w.@-]/g, '_').slice(0, 100)}.zip`;

/** What a person may ask for: their data, and their erasure. */
export const dataRightsProcedures = {
  export: route(accountProcedure, 'GET', '/jb/users/{email}/export/', {
    summary: 'Export everything about a user',
    description:
      'A zip archive with each kind of data as JSON and as CSV: profile, memberships, app grants, invitations, mails, sessions, tokens, saved filters, usage and audit entries. It holds no passwords, tokens or links. Users may export their own data, superusers that of all users. tRPC streams pages of `{part, items}`.',
    problems: ['forbidden', 'reauthentication-required'],
    download: 'application/zip',
  })
    .input(ByEmail)
    .output(downloadOf<ExportPage>())
    .query(async ({ ctx, input: { email } }) => {
      const { pages, archive } = await ctx.services.userExports.open(ctx.actor, email);
      return ctx.isDownload ? new Download(fileNameOf(email), archive()) : pages();
    }),

  previewErasure: route(superuserProcedure, 'GET', '/jb/users/{email}/erasure/', {
    summary: 'Count what the erasure of a user would replace',
    description:
      'Changes nothing. `confirmation` is the code that the erasure asks for: it is valid for ten minutes, for you, and as long as the user does not change.',
    problems: ['self-modification', 'last-superuser', 'reauthentication-required'],
  })
    .input(ByEmail)
    .output(ErasurePreview)
    .query(({ ctx, input }) => ctx.services.erasures.preview(ctx.actor, input.email)),

  erase: route(superuserProcedure, 'POST', '/jb/users/{email}/erasure/', {
    summary: 'Erase a user',
    description:
      'Replaces the user by a pseudonym everywhere: account, invitations, mails, usage and audit trail. It cannot be undone. `confirmation` is the code of the preview, `confirm_email` the email address once more. If `is_finished` is false, the rest is replaced in the background.',
    problems: ['self-modification', 'last-superuser', 'reauthentication-required'],
    handlesIdempotency: true,
  })
    .input(z.object({ email: EmailKey, confirmation: z.string().max(100), confirm_email: Email }))
    .output(
      z.object({
        pseudonym: z.string().meta({ examples: ['erased-6f1f0f5c6d0b4a53@erased.invalid'] }),
        is_finished: z.boolean(),
      }),
    )
    .mutation(({ ctx, input: { email, ...confirmed } }) =>
      ctx.services.erasures.erase(ctx.actor, email, confirmed, ctx.idempotencyKey()),
    ),
};
