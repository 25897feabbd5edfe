import { type InferResult, sql } from 'kysely';
import { MAIL_KINDS } from '../../../entities/outbox-mail.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { hasGlobalRole } from '../access/visibility.ts';
import { mailStatus } from '../outbox/mail-status.ts';
import { passwordExpiresAt } from '../policies/password-expiry.ts';
import { REMINDER_KINDS, reminderToday } from '../reminders/reminder-facts.ts';
import { confirmationEnds } from '../users/email-changes.ts';
import {
  asWritten,
  factorDueToday,
  isAsWritten,
  type MailOptions,
  type MailVariables,
  passwordLinkExpiry,
  variablesOf,
  writtenAt,
} from './mail-variables.ts';

export { MAIL_KINDS };

/**
 * Mails with the columns of their lists. A mail about a user is sent in the name of the user's client, if there is only one: its admins get
 * the answers and bounces. Not so a mail to a former address, whose mailbox may belong to a client that the person has left. Only viewers
 * who administer all of the user's clients see such a mail. `obsolete` is the reason why a mail must not be sent any more, or null.
 */
export const mailRows = (em: Em, options: MailOptions) =>
  kysely(em)
    .selectFrom('outbox_mails as mail')
    .leftJoin('invitations as invitation', 'invitation.id', 'mail.invitation_id')
    .leftJoin('users as person', 'person.id', 'mail.user_id')
    .leftJoin('password_links as link', 'link.id', 'mail.password_link_id')
    .leftJoin('email_changes as change', 'change.id', 'mail.email_change_id')
    .leftJoin('access_requests as request', 'request.id', 'mail.access_request_id')
    .leftJoin('client_reminders as reminders', 'reminders.client_id', 'mail.client_id')
    .leftJoin('clients as client', (join) =>
      join.on(
        condition`client.id = coalesce(mail.client_id,
          (select min(m.client_id) from memberships m where m.user_id = mail.user_id and mail.kind <> 'email-changed'
            and not ${hasGlobalRole('person')} having count(*) = 1))`,
      ),
    )
    .select(['mail.id', 'mail.kind', 'mail.recipient', 'mail.client_id', 'mail.invitation_id'])
    .select(['mail.user_id', 'mail.created_at', 'mail.attempts', 'mail.last_attempt_at'])
    .select(['mail.next_attempt_at', 'mail.last_error', 'mail.sent_at', 'mail.failed_at'])
    .select(asWritten('client_name', 'client.name').as('client_name'))
    .select(asWritten('invitation_subject', 'client.invitation_subject').as('invitation_subject'))
    .select([whyObsolete(options).as('obsolete'), mailStatus.as('status')]);

export type MailRow = InferResult<ReturnType<typeof mailRows>>[number];

/** Mails with everything that their templates need. `is_as_sent`: whether a sent mail is shown as it was written. */
export const mailContexts = (em: Em, options: MailOptions) =>
  mailRows(em, options)
    .select([variablesOf(options).as('variables'), isAsWritten.as('is_as_sent')])
    .select([writtenAt(options.now).as('written_at'), 'mail.request_address', 'mail.traceparent'])
    .select(['invitation.key as invitation_key', 'invitation.roles as invitation_roles'])
    .select([LINK.as('link'), CHANGE.as('change')]);

export type MailContext = InferResult<ReturnType<typeof mailContexts>>[number];

/** The data from which a mail is written. */
export type LetterContext = { variables: MailVariables } & Pick<
  MailContext,
  | ('id' | 'kind' | 'recipient' | 'created_at' | 'written_at' | 'request_address')
  | ('invitation_key' | 'link' | 'change')
>;

/** SQL: the data from which the link of a mail is made. Times are ISO 8601. */
const LINK = sql<{ id: number; user_id: number; created_at: string } | null>`case when link.id is not null
  then json_build_object('id', link.id, 'user_id', link.user_id, 'created_at', link.created_at) end`;

const CHANGE = sql<{
  id: number;
  user_id: number;
  requested_at: string;
} | null>`case when change.id is not null
  then json_build_object('id', change.id, 'user_id', change.user_id, 'requested_at', change.requested_at) end`;

/** Whether the mail contains a link to set a password. SQL over the alias `mail`. */
const hasPasswordLink = condition`mail.kind in ('password-setup', 'password-renewal', 'password-reset')`;

/**
 * Password mails whose user was not looked up yet, or that have no link yet. The condition on `kind` must match the index
 * `outbox_mails_due`.
 */
export const needsLink = condition`(sent_at is null and failed_at is null and (kind = 'invitation') is false
  and kind <> 'invitation-reminder'
  and password_link_id is null and (kind in ('password-setup', 'password-renewal') or user_id is null))`;

/** Admins must not learn what happened to the account of a person who has left. */
const HAS_LEFT = sql`when not exists (select from memberships m
    where m.user_id = mail.user_id and m.client_id = mail.client_id)
    then 'The person no longer belongs to the client.'`;

/** Why a mail about the expiry of a password must not be sent any more; null if it may be. */
const obsoleteExpiry = sql`case
  ${HAS_LEFT}
  when not person.is_active then 'The account has been deactivated.'
  when person.last_password_set > mail.created_at then 'The password has been changed.'
  when ${passwordExpiresAt('person', sql`c.id = mail.client_id`)} is null then 'The password no longer expires.'
end`;

/** Why a mail about a policy for second factors must not be sent any more; null if it may be. */
const obsoleteFactor = sql`case
  ${HAS_LEFT}
  when not person.is_active then 'The account has been deactivated.'
  when ${factorDueToday} is null then 'A second factor has been set up, or is no longer required.'
  when mail.kind = 'second-factor-reminder' and ${factorDueToday} <= mail.created_at
    then 'The time to set up a second factor is over.'
end`;

/** A mail to an admin also stands for later requests for the same app. */
const obsoleteRequest = sql`case
  ${HAS_LEFT}
  when request.id is null then 'The person who asked was erased.'
  when not person.is_active then 'The account has been deactivated.'
  when mail.kind = 'access-decided' then null
  when not exists (select from memberships m
    where m.user_id = mail.user_id and m.client_id = mail.client_id and m.is_admin and m.is_active_member)
    then 'The recipient is no longer an admin of the client.'
  when not exists (select from access_requests r where r.app_id = request.app_id and r.status = 'pending')
    then 'There is no longer a pending request for this app.'
end`;

const obsoleteWebhook = sql`case
  when not exists (select from webhooks w where w.id = mail.webhook_id and not w.is_active)
    then 'The webhook is active again, or was removed.'
  when not person.is_active then 'The account has been deactivated.'
  when mail.client_id is null and not person.is_superuser or mail.client_id is not null and not exists (
    select from memberships m where m.user_id = mail.user_id and m.client_id = mail.client_id and m.is_admin and m.is_active_member)
    then 'The recipient no longer administers the webhook.'
end`;

const OBSOLETE_HOLD = sql`case
  when not person.is_active or not exists (
    select from memberships m where m.user_id = mail.user_id and m.client_id = mail.client_id and m.is_admin and m.is_active_member)
    then 'The recipient no longer administers the client.'
  when not exists (select from directory_holds h where h.client_id = mail.client_id and h.approved_at is null)
    then 'Nothing is on hold any more.'
end`;

const EXPIRED_INVITATION = 'The invitation has expired.';
const EXPIRED_LINK = 'The link has expired.';
export const UNMAILABLE = 'Mail cannot be sent to this address.';

/**
 * SQL over the alias `mail`: whether a failed mail was still needed. Obsolete mails have no last attempt. Those with these reasons have none
 * either, but their recipients are waiting for them.
 */
export const wasNeeded = condition`(mail.last_attempt_at is not null
  or mail.last_error = any(${[EXPIRED_INVITATION, EXPIRED_LINK, UNMAILABLE]}::text[]))`;

/** Why a reminder must not be sent any more; null if it may be. */
const obsoleteReminder = (now: Date) => sql`case
  ${HAS_LEFT}
  when not person.is_active then 'The account has been deactivated.'
  when ${reminderToday(now)} is null then 'This reminder is no longer needed.'
end`;

/** Why a mail about the end of a token must not be sent any more; null if it may be. */
const obsoleteToken = (now: Date) => sql`case
  when not person.is_active then 'The account has been deactivated.'
  when ${reminderToday(now)} is null then 'The token has ended, or no longer concerns the recipient.'
end`;

/**
 * Only mails with links, notices about dates, requests and webhooks, and reminders can become obsolete. A `password-reset` mail has no user
 * until the worker looks one up. A `password-setup` or `password-renewal` mail has no link until a worker first claims it, and its user has
 * no password until the link is used.
 */
const whyObsolete = ({ now, invitationMs }: MailOptions) => sql<string | null>`case
  when mail.kind in ('invitation', 'invitation-reminder') then case
    when invitation.status = 'accepted' then 'The invitation has been accepted.'
    when invitation.status = 'revoked' then 'The invitation has been revoked.'
    when mail.kind = 'invitation-reminder' and coalesce(reminders.invitation_days, 0) = 0
      then 'This reminder is no longer needed.'
    when invitation.status = 'pending' and invitation.expires_at > ${now} then null
    else ${sql.lit(EXPIRED_INVITATION)}
  end
  when mail.kind = 'password-expiry' then ${obsoleteExpiry}
  when mail.kind in ('second-factor-required', 'second-factor-reminder') then ${obsoleteFactor}
  when mail.kind = 'email-confirmation' then case
    when change.id is null or change.changed_at is not null then 'The link has been used or replaced.'
    when not person.is_active then 'The account has been deactivated.'
    when ${confirmationEnds} <= ${now} then ${sql.lit(EXPIRED_LINK)}
  end
  when mail.kind in ('access-requested', 'access-decided') then ${obsoleteRequest}
  when mail.kind = 'webhook-disabled' then ${obsoleteWebhook}
  when mail.kind = 'token-ending' then ${obsoleteToken(now)}
  when mail.kind = 'viewed-as' then case ${HAS_LEFT} end
  when mail.kind = 'directory-held' then ${OBSOLETE_HOLD}
  when mail.kind in ${REMINDER_KINDS} then ${obsoleteReminder(now)}
  when not ${hasPasswordLink} then null
  when mail.user_id is null then case when mail.kind = 'password-setup' then 'There is no such account.' end
  when not person.is_active then 'The account has been deactivated.'
  when ${passwordLinkExpiry(invitationMs)} <= ${now} then ${sql.lit(EXPIRED_LINK)}
  when link.id is null and (mail.kind = 'password-reset' or person.password_hash is not null)
    then 'The link has been used or replaced.'
end`;
