import { z } from 'zod';
import type { MailRow } from '../../src/services/mail/mail-context.ts';
import { MAIL_STATUSES, mailStatusOf } from '../../src/services/mail/mail-status.ts';
import { subjectOf } from '../../src/services/mail/mail-templates.ts';
import type { ReadableMail } from '../../src/services/mail/mails.ts';
import { Instant } from './fields.ts';

export const MailStatusFilter = z.enum([...MAIL_STATUSES, 'all']).default('all');

export const MailView = z.object({
  id: z.int(),
  kind: z.enum(['invitation', 'password-setup', 'password-reset', 'password-changed']),
  recipient: z.string(),
  /** Null for mails that concern a user and no client in particular. */
  client: z.int().nullable(),
  subject: z.string(),
  status: z.enum(MAIL_STATUSES),
  attempts: z.int(),
  /** Why it was not sent the last time, or was given up. */
  last_error: z.string().nullable(),
  created_at: Instant,
  /** Null once it is sent or given up. */
  next_attempt_at: Instant.nullable(),
  sent_at: Instant.nullable(),
  failed_at: Instant.nullable(),
});

/** With its words as they go out; a link that the caller may not see is replaced. */
export const MailDetailsView = MailView.extend({
  from: z.object({ name: z.string(), address: z.string() }),
  text: z.string(),
  html: z.string(),
});

export const mailView = (mail: MailRow): z.input<typeof MailView> => ({
  id: mail.id,
  kind: mail.kind,
  recipient: mail.recipient,
  client: mail.client_id,
  subject: subjectOf(mail),
  status: mailStatusOf(mail),
  attempts: mail.attempts,
  last_error: mail.last_error,
  created_at: mail.created_at,
  next_attempt_at: mail.sent_at || mail.failed_at ? null : mail.next_attempt_at,
  sent_at: mail.sent_at,
  failed_at: mail.failed_at,
});

export const mailDetailsView = ({ row, mail }: ReadableMail): z.input<typeof MailDetailsView> => ({
  ...mailView(row),
  from: { name: mail.from.name, address: mail.from.address },
  text: mail.text,
  html: mail.html,
});
