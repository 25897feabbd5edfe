import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { fullName } from '../accounts/user-rows.ts';
import { appLabelsInvitedTo } from '../invitations/invitation-rows.ts';
import { RESET_LINK_MINUTES } from '../passwords/password-resets.ts';
import { lackingFrom } from '../policies/factor-policy.ts';
import { passwordExpiresAt } from '../policies/password-expiry.ts';
import { type ReminderFacts, reminderToday } from '../reminders/reminder-facts.ts';

/** Values in templates that are not in the row of the mail. Contains neither links nor their parts. Times are ISO 8601. */
export type MailVariables = {
  client_name: string | null;
  default_from_email: string | null;
  support_email: string | null;
  link_expires_at: string;
  /** The recipient's. An erasure removes it, and the facts below that name the person. */
  first_name?: string | null;
  invitation_subject?: string | null;
  invitation_body?: string | null;
  app_labels?: string[];
  /** Names of the roles that an invitation gives. */
  invited_roles?: string[] | null;
  password_expires_at?: string | null;
  /** When the person must have a second factor. */
  factor_due_at?: string | null;
  /** Whether it must be a passkey. */
  needs_passkey?: boolean;
  /** Whether the person requested the change that the mail is about. */
  is_requested?: boolean;
  access_request?: RequestFacts | null;
  webhook?: { name: string; reason: string } | null;
  look?: LookFacts | null;
  reminder?: ReminderFacts | null;
};

/** Facts about a request for an app. */
type RequestFacts = {
  user_id: number;
  app: string;
  email: string;
  name: string;
  reason: string;
  days: number | null;
  is_approved: boolean;
  expires_at: string | null;
  decision_reason: string;
};

/** Facts about a look at an app as the recipient. */
type LookFacts = { actor_id: number; actor: string; app: string; reason: string; ends_at: string };

/** `invitationMs`: how long an invitation is valid, by the setting. */
export type MailOptions = { now: Date; invitationMs: number };

/**
 * SQL over the alias `mail`: the lifetime of its link to set a password, from the creation of the mail. For a new account, it is as long as
 * for an invitation of the installation.
 */
export const passwordLinkLifetime = (setupMs: number): RawBuilder<string> =>
  sql`(case when mail.kind = 'password-reset' then ${RESET_LINK_MINUTES}::int * interval '1 minute'
    else ${setupMs}::float8 * interval '1 millisecond' end)`;

export const passwordLinkExpiry = (setupMs: number): RawBuilder<Date> =>
  sql`coalesce(link.expires_at, mail.created_at + ${passwordLinkLifetime(setupMs)})`;

/** SQL: the time at which a sent mail was written; otherwise now. */
export const writtenAt = (now: Date) =>
  sql<Date>`case when mail.sent_at is null then ${now}::timestamptz else coalesce(mail.last_attempt_at, mail.sent_at) end`;

/** SQL: null unless the person is a present member. */
const requestToday = sql`(
  select json_build_object('user_id', u.id, 'app', a.label, 'email', u.email,
    'name', ${fullName('u')}, 'reason', request.reason, 'days', request.days,
    'is_approved', request.status = 'approved', 'expires_at', request.expires_at,
    'decision_reason', request.decision_reason)
  from apps a join users u on u.id = request.user_id
    join memberships m on m.user_id = u.id and m.client_id = a.client_id
  where a.id = request.app_id)`;

/** SQL: the description of a webhook, or the host of its URL, whose path may contain a secret. */
const webhookToday = sql`(
  select json_build_object('name', coalesce(nullif(description, ''), substring(url from '^[a-z]+://([^/?]+)')),
    'reason', disabled_reason)
  from webhooks where webhooks.id = mail.webhook_id)`;

const lookToday = sql`(
  select json_build_object('actor_id', u.id, 'actor', u.email, 'app', a.label, 'reason', v.reason, 'ends_at', v.ends_at)
  from view_as v join users u on u.id = v.actor_id join apps a on a.id = v.app_id
  where v.id = mail.view_as_id)`;

/** SQL: null for a person who has left the client: others may have changed the name. */
const firstNameToday = sql`case when mail.client_id is null or exists (select from memberships m
  where m.user_id = mail.user_id and m.client_id = mail.client_id) then person.first_name end`;

const passwordExpiryToday = sql`case when mail.kind = 'password-expiry' and person.is_active
  then ${passwordExpiresAt('person', sql`c.id = mail.client_id`)} end`;

/** SQL: for mails about the policy of a client: when the member needs a second factor, if they still have none. */
export const factorDueToday = sql`case when mail.kind in ('second-factor-required', 'second-factor-reminder')
  and person.is_active then (select ${lackingFrom('person')} from memberships m join clients c on c.id = m.client_id
    where m.user_id = mail.user_id and m.client_id = mail.client_id and m.is_active_member) end`;

/** SQL over the aliases of `mailRows`: the present variables of a mail. */
const variablesToday = ({ now, invitationMs }: MailOptions) => sql`(jsonb_build_object(
    'client_name', client.name, 'default_from_email', client.default_from_email, 'support_email', client.support_email,
    'first_name', ${firstNameToday}, 'is_requested', change.id is not null,
    'link_expires_at', case when mail.kind = 'invitation' then ${writtenAt(now)} + ${invitationMs}::float8 * interval '1 millisecond'
      else ${passwordLinkExpiry(invitationMs)} end,
    'password_expires_at', ${passwordExpiryToday}, 'factor_due_at', ${factorDueToday},
    'needs_passkey', exists (select from clients c where c.id = mail.client_id and c.factor_policy = 'passkey'),
    'access_request', ${requestToday}, 'webhook', ${webhookToday}, 'look', ${lookToday}, 'reminder', ${reminderToday(now)})
  || case when mail.kind = 'invitation' then jsonb_build_object('invitation_subject', client.invitation_subject,
    'invitation_body', client.invitation_body, 'invited_roles', invitation.roles,
    'app_labels', ${appLabelsInvitedTo(sql`mail.invitation_id`)}) else '{}' end)`;

/** SQL: whether a mail is shown as it was written. */
export const isAsWritten = condition`(mail.sent_at is not null and mail.variables is not null)`;

/** SQL over the aliases of `mailRows`: the variables that were written into a sent mail; otherwise the present ones. */
export const variablesOf = (options: MailOptions) =>
  sql<MailVariables>`case when ${isAsWritten} then mail.variables else ${variablesToday(options)} end`;

/** SQL: a column of the client, chosen as in `variablesOf`. */
export const asWritten = (name: 'client_name' | 'invitation_subject', column: string) =>
  sql<
    string | null
  >`case when ${isAsWritten} then mail.variables ->> ${sql.lit(name)} else ${sql.ref(column)} end`;

/** Stores the variables that were written into these mails. */
export const keepVariables = async (tx: Em, mails: readonly { id: number; variables: MailVariables }[]) => {
  const rows = mails.map(({ id, variables }) => ({ id, variables }));
  await sql`
    update outbox_mails set variables = kept.variables
    from json_to_recordset(${JSON.stringify(rows)}::json) as kept (id bigint, variables jsonb)
    where outbox_mails.id = kept.id`.execute(kysely(tx));
};
