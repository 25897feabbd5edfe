import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { ofClient, type Transaction } from '../audit/audit.ts';
import { NEW_MAIL, newMailValues } from '../outbox/enqueue-mails.ts';
import { dayBefore, isApproved, isHeld } from './directory-rows.ts';

/** Of all people of a client, the share whose memberships a directory may end within a day. */
const DAILY_SHARE = 0.2;
/** So many it may always end within a day. */
const ALWAYS_ALLOWED = 10;
/** Directories try again in their next cycle. */
const RETRY_AFTER_SECONDS = 3_600;

export type Ending = { client: number; userId: number };

/** An end of a membership that is not allowed yet. */
export class HeldEnding extends Problem {
  readonly ending: Ending & { isLastAdmin: boolean };

  constructor(ending: HeldEnding['ending'], detail: string) {
    super('held-for-approval', { detail, retryAfterSeconds: RETRY_AFTER_SECONDS });
    this.ending = ending;
  }
}

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

/** Remembers whose end was held. The first of several informs the admins of the client. */
export const holdEnding = async ({ tx, now, audit }: Transaction, { ending }: HeldEnding): Promise<void> => {
  const { client, userId, isLastAdmin } = ending;
  await sql`select pg_advisory_xact_lock(hashtextextended(${`holds of the directory of ${client}`}, 0))`.execute(
    kysely(tx),
  );
  const waiting = await kysely(tx)
    .selectFrom('directory_holds as h')
    .select('h.user_id')
    .where('h.client_id', '=', client)
    .where(isHeld(now))
    .limit(1)
    .executeTakeFirst();
  // One that still waits keeps its time, by which admins approve it.
  await sql`
    insert into directory_holds as h (client_id, user_id, is_last_admin, held_at, tried_at)
    select client_id, user_id, ${isLastAdmin}::boolean, ${now}::timestamptz, ${now}::timestamptz
    from memberships where client_id = ${client} and user_id = ${userId}
    on conflict (client_id, user_id) do update set is_last_admin = excluded.is_last_admin, tried_at = excluded.tried_at,
      approved_at = null, held_at = case when ${isHeld(now)} and h.is_last_admin = excluded.is_last_admin then h.held_at
        else excluded.held_at end`.execute(kysely(tx));
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
