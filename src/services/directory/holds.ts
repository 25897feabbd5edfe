import { type InferResult, sql } from 'kysely';
import { type Condition, condition, type Em, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { Problem } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import { isAllowedIn } from '../access/visibility.ts';
import { ofClient, type Transaction } from '../audit/audit.ts';
import { readManagedClient } from '../clients/clients.ts';
import { NEW_MAIL, newMailValues } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { dayBefore } from './directory-rows.ts';

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

/** SQL: whether a hold `h` waits for an approval. A directory tries again within a day, unless it has been corrected. */
export const isHeld = (now: Date): Condition =>
  condition`(h.tried_at > ${dayBefore(now)}::timestamptz and coalesce(h.approved_at <= ${dayBefore(now)}::timestamptz, true))`;

/** SQL: whether the approval of a hold `h` is valid. */
export const isApproved = (now: Date): Condition =>
  condition`(h.approved_at > ${dayBefore(now)}::timestamptz)`;

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

type WaitingRow = { client: number; client_name: string; people: number };

/** The ends of memberships that directories have tried, and that wait for an approval. */
export const createDirectoryHolds = ({ em, clock, audit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => ({
  /**
   * People whose memberships the directory wants to end, and those whose end an admin has approved within a day, by id.
   * @throws Problem `not-found`, `forbidden`
   */
  list: async (actor: Actor, client: number, page: CursorPageRequest): Promise<HeldRow[]> => {
    await readManagedClient(em, actor, client, 'configure');
    return readPage(
      afterCursor(heldRows(em, client, clock.now()), 'h.user_id', page.cursor),
      'h.user_id',
      page,
    );
  },

  /**
   * Lets the directory end the memberships that were held, within a day.
   * @param held how many of them were held until which time, as the admin has seen them
   * @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `precondition-failed`
   */
  approve: (actor: Actor, client: number, { held, until }: { held: number; until: Date }): Promise<void> =>
    em.transactional(async (tx) => {
      const now = clock.now();
      const row = await readManagedClient(tx, actor, client, 'configure');
      requireConfirmedSession(actor, now);
      const approved = await kysely(tx)
        .updateTable('directory_holds as h')
        .set({ approved_at: now })
        .where('h.client_id', '=', client)
        .where('h.held_at', '<=', until)
        .where(isHeld(now))
        .returning('h.user_id')
        .execute();
      if (approved.length !== held) throw new Problem('precondition-failed');
      const about = { actor, target: ofClient(row), clients: [client] };
      await audit.record(tx, [{ action: 'directory.approve', ...about, details: { people: held } }]);
    }),

  /** The clients whose directories wait for an approval, of those that the actor configures; with a client, that one alone. */
  listWaiting: async (actor: Actor, client?: number): Promise<WaitingRow[]> =>
    kysely(em)
      .selectFrom('directory_holds as h')
      .innerJoin('clients', 'clients.id', 'h.client_id')
      .select(['clients.id as client', 'clients.name as client_name'])
      .select(({ fn }) => fn.countAll<number>().as('people'))
      .where(isHeld(clock.now()))
      .where(isAllowedIn(sql`h.client_id`, actor, 'configure'))
      .where(condition`${client === undefined ? sql`true` : sql`h.client_id = ${client}`}`)
      .groupBy('clients.id')
      .orderBy('clients.id')
      .execute(),
});

const heldRows = (em: Em, client: number, now: Date) =>
  kysely(em)
    .selectFrom('directory_holds as h')
    .innerJoin('users', 'users.id', 'h.user_id')
    .select(['users.id', 'users.email', 'users.first_name', 'users.last_name'])
    .select(['h.held_at', 'h.approved_at', 'h.is_last_admin'])
    .where('h.client_id', '=', client)
    .where(condition`(${isHeld(now)} or ${isApproved(now)})`)
    .orderBy('h.user_id');

type HeldRow = InferResult<ReturnType<typeof heldRows>>[number];
