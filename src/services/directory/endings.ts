import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { dayBefore } from './directory-rows.ts';
import { type Ending, HeldEnding, isApproved } from './holds.ts';

/** Of all people of a client, the share whose memberships a directory may end within a day. */
const DAILY_SHARE = 0.2;
/** So many it may always end within a day. */
const ALWAYS_ALLOWED = 10;

/**
 * Counts the end of an active membership by the directory. The limit is a share of those who were members a day ago: whom a directory has
 * just created does not widen it.
 * @throws HeldEnding if the directory has ended too many within a day, or ends that of the last admin, unless an admin has approved it
 * within a day
 */
export const requireEndingAllowed = async (tx: Em, { client, userId }: Ending, now: Date): Promise<void> => {
  const dayAgo = dayBefore(now);
  // Endings at the same time count one after another.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`endings by the directory of ${client}`}, 0))`.execute(
    kysely(tx),
  );
  const { rows } = await sql<{
    people: number;
    ended: number;
    is_last_admin: boolean;
    approved: boolean | null;
  }>`
    select
      (select count(*)::int from memberships where client_id = ${client} and is_active_member
        and coalesce(joined_at <= ${dayAgo}::timestamptz, true)) as people,
      (select count(*)::int from directory_endings where client_id = ${client} and ended_at > ${dayAgo}::timestamptz) as ended,
      exists (select from memberships where client_id = ${client} and user_id = ${userId} and is_admin)
        and not exists (select from memberships m join users u on u.id = m.user_id
          where m.client_id = ${client} and m.user_id <> ${userId} and m.is_admin and m.is_active_member and u.is_active)
        as is_last_admin,
      (select h.is_last_admin from directory_holds h
        where h.client_id = ${client} and h.user_id = ${userId} and ${isApproved(now)}) as approved`.execute(
    kysely(tx),
  );
  const [facts] = rows;
  if (!facts) return;
  const { is_last_admin: isLastAdmin } = facts;
  // An approval of the end of one of many says nothing about the last admin.
  if (facts.approved !== null && (facts.approved || !isLastAdmin)) return;
  const allowed = Math.max(ALWAYS_ALLOWED, Math.floor((facts.people + facts.ended) * DAILY_SHARE));
  if (isLastAdmin || facts.ended >= allowed)
    throw new HeldEnding({ client, userId, isLastAdmin }, isLastAdmin ? LAST_ADMIN : tooMany(allowed));
  await kysely(tx).insertInto('directory_endings').values({ client_id: client, ended_at: now }).execute();
};

const LAST_ADMIN =
  'Held for approval: this is the last admin of the client. An admin must approve it in Steward.';

const tooMany = (allowed: number): string =>
  `Held for approval: the directory has ended ${allowed} memberships within a day. An admin of the client must approve more in Steward.`;
