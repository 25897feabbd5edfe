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

  /** The clients whose directories wait for an approval, of those that the actor configures. */
  listWaiting: async (actor: Actor): Promise<WaitingRow[]> =>
    kysely(em)
      .selectFrom('directory_holds as h')
      .innerJoin('clients', 'clients.id', 'h.client_id')
      .select(['clients.id as client', 'clients.name as client_name'])
      .select(({ fn }) => fn.countAll<number>().as('people'))
      .where(isHeld(clock.now()))
      .where(isAllowedIn(sql`h.client_id`, actor, 'configure'))
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
