import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { ofClient, type Transaction } from '../audit/audit.ts';
import { NEW_MAIL, newMailValues } from '../outbox/enqueue-mails.ts';
import { dayBefore, isHeld, lockSettings } from './directory-rows.ts';

/** Of all people of a client, the share whose memberships a directory may end within a day. */
const DAILY_SHARE = 0.2;
/** So many it may always end within a day. */
const ALWAYS_ALLOWED = 10;
/** Directories try again in their next cycle. */
const RETRY_AFTER_SECONDS = 3_600;

type Ending = { client: number; userId: number; approvedAt: Date | null };

/**
 * Counts the end of a membership, or of its activity, by the directory.
 * @throws Problem `held-for-approval` if the directory has ended too many within a day, or ends that of the last admin, unless an admin has
 * approved it within a day
 */
export const requireEndingAllowed = async (
  tx: Em,
  { client, userId, approvedAt }: Ending,
  now: Date,
): Promise<void> => {
  const dayAgo = dayBefore(now);
  if (approvedAt !== null && approvedAt > dayAgo) return;
  // Endings at the same time count one after another.
  await lockSettings(tx, client);
  const { rows } = await sql<{ people: number; ended: number; is_last_admin: boolean }>`
    select
      (select count(*)::int from memberships where client_id = ${client} and is_active_member) as people,
      (select count(*)::int from directory_endings where client_id = ${client} and ended_at > ${dayAgo}::timestamptz) as ended,
      exists (select from memberships where client_id = ${client} and user_id = ${userId} and is_admin)
        and not exists (select from memberships m join users u on u.id = m.user_id
          where m.client_id = ${client} and m.user_id <> ${userId} and m.is_admin and m.is_active_member and u.is_active)
        as is_last_admin`.execute(kysely(tx));
  const [facts] = rows;
  if (!facts) return;
  const allowed = Math.max(ALWAYS_ALLOWED, Math.floor((facts.people + facts.ended) * DAILY_SHARE));
  if (facts.is_last_admin || facts.ended >= allowed)
    throw new Problem('held-for-approval', {
      detail: facts.is_last_admin ? LAST_ADMIN : tooMany(allowed),
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  await kysely(tx).insertInto('directory_endings').values({ client_id: client, ended_at: now }).execute();
};

const LAST_ADMIN =
  'Held for approval: this is the last admin of the client. An admin must approve it in Steward.';

const tooMany = (allowed: number): string =>
  `Held for approval: the directory has ended ${allowed} memberships within a day. An admin of the client must approve more in Steward.`;

/** Remembers whose end was held. The first of several informs the admins of the client. */
export const holdEnding = async (
  { tx, now, audit }: Transaction,
  client: number,
  id: string,
): Promise<void> => {
  await lockSettings(tx, client);
  const waiting = await kysely(tx)
    .selectFrom('directory_people as d')
    .select('d.id')
    .where('d.client_id', '=', client)
    .where(isHeld(now))
    .limit(1)
    .executeTakeFirst();
  await kysely(tx)
    .updateTable('directory_people')
    .set({ held_at: now, approved_at: null })
    .where('id', '=', id)
    .execute();
  if (waiting) return;
  const { name } = await kysely(tx)
    .selectFrom('clients')
    .select('name')
    .where('id', '=', client)
    .executeTakeFirstOrThrow();
  const target = ofClient({ id: client, name });
  await audit.record(tx, [{ action: 'directory.hold', actor: null, target, clients: [client] }]);
  await sql`
    insert into outbox_mails (kind, recipient, client_id, user_id, ${NEW_MAIL})
    select 'directory-held', u.email, ${client}::int, u.id, ${newMailValues(now)}
    from memberships m join users u on u.id = m.user_id
    where m.client_id = ${client}::int and m.is_admin and m.is_active_member and u.is_active
    order by u.id`.execute(kysely(tx));
};
