import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';

type Change = { userId: number; now: Date; address: string | null };

/**
 * Enqueues the mail that informs a user of a password change. Call it before the new password is set, in the same
 * transaction: setting the first password is not a change.
 */
export const enqueuePasswordNotice = async (
  tx: SqlEntityManager,
  { userId, now, address }: Change,
): Promise<void> => {
  await sql`
    insert into outbox_mails (kind, recipient, user_id, created_at, next_attempt_at, request_address)
    select 'password-changed', email, id, ${now}::timestamptz, ${now}::timestamptz, ${address}::varchar
    from users where id = ${userId}::int and password_hash is not null`.execute(tables(tx));
};
