import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { MINUTE_MS } from '../../core/clock.ts';
import { textArray } from '../binary-arrays.ts';
import { tables } from '../tables.ts';

export type OwedInvitation = {
  id: number;
  client: number;
  email: string;
  /** Made just now: nothing was mailed before. */
  isNew?: boolean;
};

/** An invitation that is made or resent more often than this in an hour is mailed no more until the hour is over. */
const MAILS_PER_HOUR = 20;

/**
 * Owes a mail for each of these invitations, in the transaction that makes or renews them, and answers how many it
 * owes. One statement.
 */
export const oweInvitationMails = async (
  tx: SqlEntityManager,
  invitations: readonly OwedInvitation[],
  now: Date,
): Promise<number> => {
  const hourAgo = new Date(now.getTime() - 60 * MINUTE_MS);
  const { numAffectedRows = 0n } = await sql`
    insert into outbox_mails (kind, recipient, client_id, invitation_id, created_at, next_attempt_at)
    select 'invitation', mail.email, mail.client_id, mail.invitation_id, ${now}::timestamptz, ${now}::timestamptz
    from unnest(
      ${textArray(
        'varchar',
        invitations.map((item) => item.email),
      )}::varchar[],
      ${invitations.map((item) => item.client)}::int[],
      ${invitations.map((item) => item.id)}::int[],
      ${invitations.map((item) => item.isNew ?? false)}::boolean[]) as mail (email, client_id, invitation_id, is_new)
    where mail.is_new or (select count(*) from outbox_mails earlier
      where earlier.invitation_id = mail.invitation_id and earlier.created_at > ${hourAgo}::timestamptz)
      < ${MAILS_PER_HOUR}`.execute(tables(tx));
  return Number(numAffectedRows);
};
