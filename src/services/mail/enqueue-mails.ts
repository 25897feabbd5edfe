import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { textArray } from '../../db/binary-arrays.ts';
import { tables } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';

export type InvitationMail = {
  id: number;
  client: number;
  email: string;
};

/**
 * Invitation mails that one client sends to one address in an hour. Counted by address, since a client admin can revoke an
 * invitation and make another. Not by address alone, or one client could use up the limit of another, and notice its mails.
 */
const MAILS_PER_HOUR = 20;
const RETRY_AFTER_SECONDS = 3_600;

export const tooManyMails = ({ email }: InvitationMail): Problem => {
  const detail = `${email} was mailed ${MAILS_PER_HOUR} invitations by this client within an hour. Try again in an hour.`;
  return new Problem('throttled', { detail, retryAfterSeconds: RETRY_AFTER_SECONDS });
};

/**
 * Owes a mail for each of these invitations, in the transaction that makes or renews them, and answers those that get none
 * because of the limit. Whoever owes a mail holds the pending invitation of its client and address, by a lock of the row or
 * by having inserted it, so that two transactions cannot count at the same time.
 */
export const enqueueInvitationMails = async <T extends InvitationMail>(
  tx: SqlEntityManager,
  invitations: readonly T[],
  now: Date,
): Promise<T[]> => {
  const hourAgo = new Date(now.getTime() - 60 * MINUTE_MS);
  const { rows } = await sql<{ n: number }>`
    with asked as (
      select asked.*, (select count(*) from outbox_mails earlier
        where earlier.kind = 'invitation' and earlier.client_id = asked.client_id
          and earlier.recipient = asked.email and earlier.created_at > ${hourAgo}::timestamptz) as earlier
      from unnest(
        ${textArray(
          'varchar',
          invitations.map((item) => item.email),
        )}::varchar[],
        ${invitations.map((item) => item.client)}::int[],
        ${invitations.map((item) => item.id)}::int[]) with ordinality as asked (email, client_id, invitation_id, n)),
    owed as (
      insert into outbox_mails (kind, recipient, client_id, invitation_id, created_at, next_attempt_at)
      select 'invitation', email, client_id, invitation_id, ${now}::timestamptz, ${now}::timestamptz
      from asked where earlier < ${MAILS_PER_HOUR} order by n)
    select n::int - 1 as n from asked where earlier >= ${MAILS_PER_HOUR} order by n`.execute(tables(tx));
  return rows.flatMap(({ n }) => invitations[n] ?? []);
};
