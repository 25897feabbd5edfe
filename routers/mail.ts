import { z } from 'zod';
import { MAIL_KINDS, type MailRow } from '../src/services/mail/mail-context.ts';
import { subjectOf } from '../src/services/mail/mail-templates.ts';
import type { ReadableMail, TimelineEntry } from '../src/services/mail/mails.ts';
import { MAIL_STATUSES } from '../src/services/outbox/mail-status.ts';
import { routesOf } from './procedure-meta.ts';
import { InstantKey, OptionalInput, Text } from './schemas/fields.ts';
import { InvitationMailOutput, InvitationStatus } from './schemas/invitations.ts';
import { EmailKey, Id, LongIdKey } from './schemas/keys.ts';
import { limitedPagingFields, Search, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { credentialProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Mails', { hasSecrets: true });

const MailStatusFilter = z.enum([...MAIL_STATUSES, 'all']).default('all');

export const MailOutput = Output('Mail', {
  id: z.int(),
  kind: z.enum(MAIL_KINDS),
  recipient: z.string().meta({ examples: ['guest@acme.test'] }),
  /** Null for mails that do not belong to a client. */
  client: z.int().nullable(),
  subject: z.string(),
  status: z.enum(MAIL_STATUSES),
  attempts: z.int().meta({ examples: [0] }),
  /** Why the last attempt failed. */
  last_error: z.string().nullable(),
  created_at: Instant,
  /** Null after the mail was sent or has failed. */
  next_attempt_at: Instant.nullable(),
  sent_at: Instant.nullable().meta({ examples: [null] }),
  failed_at: Instant.nullable().meta({ examples: [null] }),
});

/** A mail with its content. Links that the caller may not see are replaced. */
const MailDetailsOutput = Output('MailDetails', {
  ...MailOutput.shape,
  from: z.object({ name: z.string(), address: z.string() }),
  text: z.string(),
  html: z.string(),
  /** Whether the content is what was sent. If the texts of a mail were not kept, it contains the present ones. */
  is_as_sent: z.boolean(),
  /** Whether the caller may retry it. */
  can_retry: z.boolean(),
});

export const mailOutput = (mail: MailRow): z.input<typeof MailOutput> => ({
  ...mail,
  client: mail.client_id,
  subject: subjectOf(mail),
  next_attempt_at: mail.sent_at || mail.failed_at ? null : mail.next_attempt_at,
});

const mailDetailsOutput = ({ row, mail }: ReadableMail): z.input<typeof MailDetailsOutput> => ({
  ...mailOutput(row),
  ...mail,
  is_as_sent: row.is_as_sent,
  can_retry: row.is_own && row.sent_at === null && row.obsolete === null,
});

const TimelineKey = Text(32);

/** A mail or an invitation: the other is null. */
const TimelineEntryOutput = Output('TimelineEntry', {
  id: z.string(),
  /** When the mail was enqueued, or the invitation was created. */
  timestamp: Instant,
  mail: MailOutput.nullable(),
  invitation: Output('TimelineInvitation', {
    id: z.int(),
    client: z.int(),
    inviter: z.string(),
    status: InvitationStatus,
    expires_at: Instant,
    /** Time of acceptance or revocation. */
    closed_at: Instant.nullable(),
    /** The newest mail; null after its retention. */
    mail: InvitationMailOutput.nullable(),
  }).nullable(),
});

const timelineEntryOutput = ({ key: id, at: timestamp, mail, invitation }: TimelineEntry) => ({
  id,
  timestamp,
  mail: mail && mailOutput(mail),
  invitation: invitation && {
    ...invitation,
    client: invitation.client_id,
    inviter: invitation.inviter.email,
  },
});

const ById = z.object({ id: LongIdKey });

export const mailRouter = router({
  list: route(viewerProcedure, 'GET', '/jb/mails/', {
    summary: 'List mails',
    description: 'Newest first. `cursor` is the id of the last mail of the previous page.',
  })
    .input(
      OptionalInput({
        status: MailStatusFilter,
        client: Id.optional(),
        recipient: EmailKey.optional(),
        /** Each word must match the recipient. */
        search: Search.optional(),
        /** Filters the mails of one request: they have the same time. */
        created_at: InstantKey.optional(),
        ...limitedPagingFields(LongIdKey),
      }),
    )
    .output(z.array(MailOutput))
    .query(async ({ ctx, input }) =>
      (await ctx.services.mails.list(ctx.actor, input, toPageRequest(ctx, input))).map(mailOutput),
    ),

  timeline: route(viewerProcedure, 'GET', '/jb/mails/timeline/', {
    summary: 'List the mails and invitations of an email address',
    description:
      'Newest first, also of an email address without an account. `cursor` is the id of the last entry of the previous page.',
  })
    .input(z.object({ email: EmailKey, ...limitedPagingFields(TimelineKey) }))
    .output(z.array(TimelineEntryOutput))
    .query(async ({ ctx, input }) => {
      const page = toPageRequest(ctx, input);
      return (await ctx.services.mails.timeline(ctx.actor, input.email, page)).map(timelineEntryOutput);
    }),

  get: route(viewerProcedure, 'GET', '/jb/mails/{id}/', {
    summary: 'Get a mail with its content',
    description:
      'A sent mail has the texts with which it was sent. Others have the present ones, also mails whose texts were not kept: `is_as_sent` is false.',
  })
    .input(ById)
    .output(MailDetailsOutput)
    .query(({ ctx, input }) => ctx.services.mails.get(ctx.actor, input.id).then(mailDetailsOutput)),

  retry: route(credentialProcedure, 'POST', '/jb/mails/{id}/retry/', {
    summary: 'Send a mail now',
    description: 'Retries a mail that failed or is waiting.',
  })
    .input(ById)
    .output(MailDetailsOutput)
    .mutation(({ ctx, input }) => ctx.services.mails.retry(ctx.actor, input.id).then(mailDetailsOutput)),
});
