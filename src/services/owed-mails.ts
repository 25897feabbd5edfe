import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from './tables.ts';

export type OwedInvitation = { id: number; client: number; email: string };

/** Owes a mail for each of these invitations, in the transaction that makes or renews them. One statement. */
export const oweInvitationMails = (tx: SqlEntityManager, invitations: readonly OwedInvitation[], now: Date) =>
  sql`
    insert into outbox_mails (kind, recipient, client_id, invitation_id, created_at, next_attempt_at)
    select 'invitation', mail.email, mail.client_id, mail.invitation_id, ${now}::timestamptz, ${now}::timestamptz
    from unnest(
      ${invitations.map((item) => item.email)}::varchar[],
      ${invitations.map((item) => item.client)}::int[],
      ${invitations.map((item) => item.id)}::int[]) as mail (email, client_id, invitation_id)`.execute(
    tables(tx),
  );
