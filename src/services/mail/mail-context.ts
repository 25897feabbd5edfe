import { type InferResult, type RawBuilder, sql } from 'kysely';
import { MAIL_KINDS } from '../../../entities/outbox-mail.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { type Actor, administersClient } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { hasGlobalRole } from '../access/visibility.ts';
import { lackingFrom } from '../auth/factor-policy.ts';
import { appLabelsInvitedTo } from '../invitations/invitation-rows.ts';
import { passwordExpiresAt } from '../passwords/password-expiry.ts';
import { RESET_LINK_MINUTES } from '../passwords/password-resets.ts';
import { REMINDER_KINDS, reminderToday } from '../reminders/reminder-facts.ts';
import { confirmationEnds } from '../users/email-changes.ts';
import { fullName } from '../users/user-rows.ts';
import {
  asWritten,
  labelsAsWritten,
  type MailVariables,
  objectAsWritten,
  type RequestFacts,
  type WebhookFacts,
  WRITTEN,
} from './mail-variables.ts';

export { MAIL_KINDS };

/**
 * Lifetime of a mail's link to set a password, from the creation of the mail. A new account has as many days as an invitation of the
 * installation. SQL over the table or alias `mail`.
 */
export const passwordLinkLifetime = (setupDays: number): RawBuilder<string> =>
  sql`(case when mail.kind = 'password-reset' then ${RESET_LINK_MINUTES}::int * interval '1 minute'
    else ${setupDays}::int * interval '1 day' end)`;

const passwordLinkExpiry = (setupDays: number): RawBuilder<Date> =>
  sql`coalesce(link.expires_at, mail.created_at + ${passwordLinkLifetime(setupDays)})`;

/** What decides whether a mail is obsolete. */
export type MailOptions = { now: Date; invitationDays: number };

/** SQL over the alias `client`: how many days its invitations are valid. */
export const invitationDaysOf = (options: Pick<MailOptions, 'invitationDays'>) =>
  sql<number>`${options.invitationDays}::int`;

/** How many days the invitations of a client are valid. */
export const readInvitationDays = async (
  em: Em,
  clientId: number,
  invitationDays: number,
): Promise<number> => {
  const client = kysely(em).selectFrom('clients as client').where('client.id', '=', clientId);
  const days = client.select(invitationDaysOf({ invitationDays }).as('days'));
  return (await days.executeTakeFirstOrThrow()).days;
};

/**
 * `queued`: not attempted yet. `retrying`: an attempt failed, another follows. `sent`: accepted by the mail server.
 * `failed`: rejected, too old or obsolete; not retried.
 */
export const MAIL_STATUSES = ['queued', 'retrying', 'sent', 'failed'] as const;

export type MailStatus = (typeof MAIL_STATUSES)[number];

/** The status of the alias `mail`. */
export const mailStatus = sql<MailStatus>`case
  when mail.sent_at is not null then 'sent'
  when mail.failed_at is not null then 'failed'
  when mail.attempts > 1 or mail.last_error is not null then 'retrying'
  else 'queued'
end`;

/**
 * Mails with the columns of their lists. A mail that concerns only a user is sent in the name of their client, if it is the only one:
 * its admins get the answers and bounces; one to a former address is not, because its mailbox may be of a client that the person has left.
 * Only those who administer all of the user's clients see it. `obsolete` is the reason not to send a mail any more, or null.
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
    .innerJoin(WRITTEN.as('written'), (join) => join.onTrue())
    .select(['mail.id', 'mail.kind', 'mail.recipient', 'mail.client_id', 'mail.invitation_id'])
    .select(['mail.user_id', 'mail.created_at', 'mail.attempts', 'mail.last_attempt_at'])
    .select(['mail.next_attempt_at', 'mail.last_error', 'mail.sent_at', 'mail.failed_at'])
    .select(asWritten('client_name', 'text', sql`client.name`).as('client_name'))
    .select(asWritten('invitation_subject', 'text', sql`client.invitation_subject`).as('invitation_subject'))
    .select([whyObsolete(options).as('obsolete'), mailStatus.as('status')]);

export type MailRow = InferResult<ReturnType<typeof mailRows>>[number];

/** SQL: of a present member only. */
const requestToday = sql<RequestFacts | null>`(
  select json_build_object('user_id', u.id, 'app', a.label, 'email', u.email,
    'name', ${fullName('u')}, 'reason', request.reason, 'days', request.days,
    'is_approved', request.status = 'approved', 'expires_at', request.expires_at,
    'decision_reason', request.decision_reason)
  from apps a join users u on u.id = request.user_id
    join memberships m on m.user_id = u.id and m.client_id = a.client_id
  where a.id = request.app_id)`;

/** SQL: the host of its URL, whose path may contain a secret, or its description. */
const webhookToday = sql<WebhookFacts | null>`(
  select json_build_object('name', coalesce(nullif(description, ''), substring(url from '^[a-z]+://([^/?]+)')),
    'reason', disabled_reason)
  from webhooks where webhooks.id = mail.webhook_id)`;

/** SQL: others may have changed the name of a person who has left the client. */
const firstNameToday = sql<
  string | null
>`case when mail.client_id is null or exists (select from memberships m
  where m.user_id = mail.user_id and m.client_id = mail.client_id) then person.first_name end`;

const passwordExpiryToday = sql<Date | null>`case when mail.kind = 'password-expiry' and person.is_active
  then ${passwordExpiresAt('person', sql`c.id = mail.client_id`)} end`;

/** SQL: of mails about the policy of a client: when its member needs a second factor, if they still have none. */
const factorDueToday = sql<Date | null>`case when mail.kind in ('second-factor-required', 'second-factor-reminder')
  and person.is_active then (select ${lackingFrom('person')} from memberships m join clients c on c.id = m.client_id
    where m.user_id = mail.user_id and m.client_id = mail.client_id and m.is_active_member) end`;

const needsPasskeyToday = condition`exists (select from clients c
  where c.id = mail.client_id and c.factor_policy = 'passkey')`;

/** Mails with everything that their templates need. `is_as_sent`: whether a sent mail is read as it was written. */
export const mailContexts = (em: Em, options: MailOptions) =>
  mailRows(em, options)
    .select(condition`written.variables is not null`.as('is_as_sent'))
    .select(['invitation.key as invitation_key', 'mail.request_address', 'mail.traceparent'])
    .select(['link.id as link_id', 'link.user_id as link_user_id', 'link.created_at as link_created_at'])
    .select(['change.id as change_id', 'change.user_id as change_user_id'])
    .select('change.requested_at as change_requested_at')
    .select([
      asWritten('default_from_email', 'text', sql`client.default_from_email`).as('default_from_email'),
      asWritten('support_email', 'text', sql`client.support_email`).as('support_email'),
      asWritten('invitation_body', 'text', sql`client.invitation_body`).as('invitation_body'),
      asWritten('invitation_days', 'int', invitationDaysOf(options)).as('invitation_days'),
      asWritten('first_name', 'text', firstNameToday).as('first_name'),
      asWritten('is_requested', 'boolean', sql`change.id is not null`).as('is_requested'),
      asWritten('link_expires_at', 'timestamptz', passwordLinkExpiry(options.invitationDays)).as(
        'link_expires_at',
      ),
      asWritten('password_expires_at', 'timestamptz', passwordExpiryToday).as('password_expires_at'),
      asWritten('factor_due_at', 'timestamptz', factorDueToday).as('factor_due_at'),
      asWritten('needs_passkey', 'boolean', needsPasskeyToday).as('needs_passkey'),
      labelsAsWritten(appLabelsInvitedTo(sql`mail.invitation_id`)).as('app_labels'),
      objectAsWritten('access_request', requestToday).as('access_request'),
      objectAsWritten('webhook', webhookToday).as('webhook'),
      objectAsWritten('reminder', reminderToday(options.now)).as('reminder'),
    ]);

export type MailContext = InferResult<ReturnType<typeof mailContexts>>[number];

/** When a mail was written that was sent; else `now`. */
export const writtenAt = ({ sent_at, last_attempt_at }: MailRow, now: Date): Date =>
  sent_at ? (last_attempt_at ?? sent_at) : now;

/** What is written into a mail. */
export type LetterContext = MailVariables &
  Pick<
    MailContext,
    | ('id' | 'kind' | 'recipient' | 'created_at' | 'request_address')
    | ('invitation_key' | 'change_id' | 'change_user_id' | 'change_requested_at')
    | ('link_id' | 'link_user_id' | 'link_created_at')
  >;

/** Whether the mail contains a link to set a password. SQL over the alias `mail`. */
const hasPasswordLink = condition`mail.kind in ('password-setup', 'password-renewal', 'password-reset')`;

/**
 * Password mails whose user was not looked up yet, or that have no link yet. The condition on `kind` must match the index
 * `outbox_mails_due`.
 */
export const needsLink = condition`(sent_at is null and failed_at is null and (kind = 'invitation') is false
  and kind <> 'invitation-reminder'
  and password_link_id is null and (kind in ('password-setup', 'password-renewal') or user_id is null))`;

/** Admins must not read what became of the account of a person who has left. */
const HAS_LEFT = sql`when not exists (select from memberships m
    where m.user_id = mail.user_id and m.client_id = mail.client_id)
    then 'The person does not belong to the client any more.'`;

/** The reason not to inform a person that their password expires. */
const whyUntold = sql`case
  ${HAS_LEFT}
  when not person.is_active then 'The account has been deactivated.'
  when person.last_password_set > mail.created_at then 'The password has been changed.'
  when ${passwordExpiresAt('person', sql`c.id = mail.client_id`)} is null then 'The password does not expire any more.'
end`;

/** The reason not to tell a person of a policy for second factors. */
const whyFactorIsFine = sql`case
  ${HAS_LEFT}
  when not person.is_active then 'The account has been deactivated.'
  when ${factorDueToday} is null then 'A second factor has been set up, or is not required any more.'
  when mail.kind = 'second-factor-reminder' and ${factorDueToday} <= mail.created_at
    then 'The time to set up a second factor is over.'
end`;

/** A mail to an admin also stands for later requests for the same app. */
const whyRequestIsOver = sql`case
  ${HAS_LEFT}
  when request.id is null then 'The person who asked was erased.'
  when not person.is_active then 'The account has been deactivated.'
  when mail.kind = 'access-decided' then null
  when not exists (select from memberships m
    where m.user_id = mail.user_id and m.client_id = mail.client_id and m.is_admin and m.is_active_member)
    then 'The recipient is no admin of the client any more.'
  when not exists (select from access_requests r where r.app_id = request.app_id and r.status = 'pending')
    then 'No request for this app is pending any more.'
end`;

const whyWebhookIsFine = sql`case
  when not exists (select from webhooks w where w.id = mail.webhook_id and not w.is_active)
    then 'The webhook is active again, or was removed.'
  when not person.is_active then 'The account has been deactivated.'
  when mail.client_id is null and not person.is_superuser or mail.client_id is not null and not exists (
    select from memberships m where m.user_id = mail.user_id and m.client_id = mail.client_id and m.is_admin)
    then 'The recipient does not administer the webhook any more.'
end`;

/** The reason not to send a reminder. */
const whyReminderIsOver = (now: Date) => sql`case
  ${HAS_LEFT}
  when not person.is_active then 'The account has been deactivated.'
  when ${reminderToday(now)} is null then 'There is nothing to remind of any more.'
end`;

/**
 * Only links become obsolete, and notices of dates and requests, and reminders. A `password-reset` mail has no user until the worker looks one up. A `password-setup` or `password-renewal` mail has no
 * link until a worker first claims it, and its user has no password until the link is used.
 */
const whyObsolete = ({ now, invitationDays }: MailOptions) => sql<string | null>`case
  when mail.kind in ('invitation', 'invitation-reminder') then case
    when invitation.status = 'accepted' then 'The invitation has been accepted.'
    when invitation.status = 'revoked' then 'The invitation has been revoked.'
    when mail.kind = 'invitation-reminder' and coalesce(reminders.invitation_days, 0) = 0
      then 'There is nothing to remind of any more.'
    when invitation.status = 'pending' and invitation.expires_at > ${now} then null
    else 'The invitation has expired.'
  end
  when mail.kind = 'password-expiry' then ${whyUntold}
  when mail.kind in ('second-factor-required', 'second-factor-reminder') then ${whyFactorIsFine}
  when mail.kind = 'email-confirmation' then case
    when change.id is null or change.changed_at is not null then 'The link has been used or replaced.'
    when not person.is_active then 'The account has been deactivated.'
    when ${confirmationEnds} <= ${now} then 'The link has expired.'
  end
  when mail.kind in ('access-requested', 'access-decided') then ${whyRequestIsOver}
  when mail.kind = 'webhook-disabled' then ${whyWebhookIsFine}
  when mail.kind in ${REMINDER_KINDS} then ${whyReminderIsOver(now)}
  when not ${hasPasswordLink} then null
  when mail.user_id is null then case when mail.kind = 'password-setup' then 'There is no such account.' end
  when not person.is_active then 'The account has been deactivated.'
  when ${passwordLinkExpiry(invitationDays)} <= ${now}
    then 'The link has expired.'
  when link.id is null and (mail.kind = 'password-reset' or person.password_hash is not null)
    then 'The link has been used or replaced.'
end`;

/**
 * SQL over an alias of `outbox_mails`: whether a mail is about the account of its user, also if a client sends it. When a password ends, and
 * whether somebody has a second factor, is of all clients of the person.
 */
export const isAboutAccount = (mail: string) => condition`(${sql.ref(`${mail}.client_id`)} is null
  or ${sql.ref(`${mail}.kind`)} in ('password-expiry', 'second-factor-required', 'second-factor-reminder'))`;

/** Whether a mail server is configured, and its rate limit. */
export type MailRoute = { hasServer: boolean; perMinute: number };

/**
 * Whether the actor may see the link of an invitation. The link proves access to the mailbox: an inviter who has it could
 * create the account themselves and wait until others trust it.
 */
export const showsInvitationLink = (actor: Actor, clientId: number, { hasServer }: MailRoute): boolean =>
  hasServer ? can(actor, 'administer') : administersClient(actor, clientId);
