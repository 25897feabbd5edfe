import { type RawBuilder, sql } from 'kysely';
import type { MailKind } from '../../../entities/outbox-mail.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import type { ReminderFacts } from '../reminders/reminder-facts.ts';

/** What mails say of a request for an app. Times are ISO 8601. */
export type RequestFacts = {
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

/** What mails say of a webhook. */
export type WebhookFacts = { name: string; reason: string };

/** What templates write into a mail, besides what its row has. No links, nor what they are made of. */
export type MailVariables = {
  client_name: string | null;
  default_from_email: string | null;
  support_email: string | null;
  invitation_subject: string | null;
  invitation_body: string | null;
  invitation_days: number;
  app_labels: string[];
  /** Of the recipient. */
  first_name: string | null;
  link_expires_at: Date;
  password_expires_at: Date | null;
  /** From when on the person needs a second factor. */
  factor_due_at: Date | null;
  /** Whether it has to be a passkey. */
  needs_passkey: boolean;
  /** Whether the person has requested the change that the mail is about. */
  is_requested: boolean;
  access_request: RequestFacts | null;
  webhook: WebhookFacts | null;
  reminder: ReminderFacts | null;
};

/** What is stored with a mail of what was written into it. */
export const variablesOf = (mail: MailVariables & { kind: MailKind }) => {
  const { client_name, default_from_email, support_email, first_name } = mail;
  const { invitation_subject, invitation_body, invitation_days, app_labels } = mail;
  const { link_expires_at, password_expires_at, factor_due_at, needs_passkey } = mail;
  const { is_requested, access_request, webhook, reminder } = mail;
  return {
    ...{ client_name, default_from_email, support_email, first_name },
    ...(mail.kind === 'invitation' && { invitation_subject, invitation_body, invitation_days, app_labels }),
    ...{ link_expires_at, password_expires_at, factor_due_at, needs_passkey, is_requested, access_request },
    ...{ webhook, reminder },
  };
};

/** Stores what was written into these mails. */
export const keepVariables = async (
  tx: Em,
  mails: readonly (MailVariables & { id: number; kind: MailKind })[],
): Promise<void> => {
  if (mails.length === 0) return;
  const rows = mails.map((mail) => ({ id: mail.id, variables: variablesOf(mail) }));
  await sql`
    update outbox_mails set variables = kept.variables
    from json_to_recordset(${JSON.stringify(rows)}::json) as kept (id bigint, variables jsonb)
    where outbox_mails.id = kept.id`.execute(kysely(tx));
};

/** SQL: a row with the variables of a sent row of the alias `mail`, or null. */
export const WRITTEN = sql<{ variables: unknown }>`lateral (
  select case when mail.sent_at is not null then mail.variables end as variables)`;

/** SQL, joined with `WRITTEN` as `written`: a variable as it was written into a sent mail, or else as it is today. */
export const asWritten = <Name extends keyof MailVariables>(
  name: Name,
  type: 'text' | 'int' | 'boolean' | 'timestamptz',
  today: RawBuilder<MailVariables[Name]>,
) => orToday(sql`(written.variables ->> ${sql.lit(name)})::${sql.raw(type)}`, today);

/** As `asWritten`. */
export const labelsAsWritten = (today: RawBuilder<string[]>) =>
  orToday(sql`array(select jsonb_array_elements_text(written.variables -> 'app_labels'))`, today);

/** As `asWritten`, of objects. */
export const objectAsWritten = <Name extends 'access_request' | 'webhook' | 'reminder'>(
  name: Name,
  today: RawBuilder<MailVariables[Name]>,
) => orToday(sql`(written.variables ->> ${sql.lit(name)})::json`, today);

const orToday = <T>(written: RawBuilder<unknown>, today: RawBuilder<T>) =>
  sql<T>`case when written.variables is null then ${today} else ${written} end`;
