import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import type { Clock } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import { requireAccessAdmin, serviceActor } from '../access/actor.ts';
import { lockAdmins, lockVisibleUser } from '../accounts/user-locks.ts';
import type { Audit } from '../audit/audit.ts';
import { updateUser } from '../users/user-update.ts';
import { enqueueInactivityWarnings } from './reminder-mails.ts';
import { dueSuspensions, isInactive, STORED } from './reminder-rules.ts';

type Deps = { em: Em; clock: Clock; audit: Audit; signal?: AbortSignal | undefined };

/** Members per page. */
const BATCH = 1_000;

/** Warns people who do not use a client, and suspends their membership if they still do not, according to the client's settings. */
export const runInactivity = async (deps: Deps): Promise<void> => {
  const { em, clock, signal } = deps;
  const clients = await kysely(em)
    .selectFrom('client_reminders as r')
    .innerJoin('clients as c', 'c.id', 'r.client_id')
    .select('r.client_id as id')
    .where('r.inactive_days', '>', 0)
    .where('c.is_open', '=', true)
    .orderBy('r.client_id')
    .execute();
  for (const { id } of clients) {
    await reviewWarned(deps, id);
    await enqueueInactivityWarnings({ em, now: clock.now(), signal }, id);
  }
};

type Due = { user_id: number; email: string; is_admin: boolean };

/**
 * Clears the warnings of members who have used the client since, so that they can be warned again, and suspends members who are due. Reads
 * one page of members at a time.
 */
const reviewWarned = async (deps: Deps, client: number): Promise<void> => {
  for (let after: number | null = 0; after !== null; ) {
    const page: { last: number | null; due: Due[] } = await reviewPage(deps, client, after);
    for (const member of page.due) {
      deps.signal?.throwIfAborted();
      await suspend(deps, client, member);
    }
    after = page.last;
  }
};

const reviewPage = async ({ em, clock }: Deps, client: number, after: number) => {
  const { rows } = await sql<{ last: number | null; due: Due[] }>`
    with page as materialized (
      select * from memberships
      where client_id = ${client} and inactivity_warned_at is not null and user_id > ${after}
      order by user_id limit ${BATCH}),
    active as materialized (
      select m.user_id from page join memberships m on m.client_id = page.client_id and m.user_id = page.user_id
        join users on users.id = m.user_id
      where m.inactivity_warned_at is not null and not ${isInactive(sql`m.inactivity_warned_at`)}
      for update of m skip locked),
    forgotten as (
      update memberships m set inactivity_warned_at = null from active
      where m.client_id = ${client} and m.user_id = active.user_id)
    select max(user_id) as last, (
      select coalesce(json_agg(json_build_object('user_id', user_id, 'email', email, 'is_admin', is_admin)), '[]')
      from (${dueSuspensions(STORED, clock.now(), sql`page`)}) each) as due
    from page`.execute(kysely(em));
  return rows[0] ?? { last: null, due: [] };
};

/** Suspends a member as an admin would, if the suspension is still due once the member is locked. */
const suspend = async ({ em, clock, audit }: Deps, client: number, member: Due): Promise<void> => {
  const service = serviceActor(client);
  // Forked, so that it does not keep all members in memory.
  const done = em.fork().transactional(async (tx) => {
    const now = clock.now();
    if (member.is_admin) await lockAdmins(tx, client, member.user_id);
    await lockVisibleUser(tx, service, member.email);
    const ofMember = sql`(select * from memberships where client_id = ${client} and user_id = ${member.user_id})`;
    const { rows } = await sql`
      select from (${dueSuspensions(STORED, now, ofMember)}) due`.execute(kysely(tx));
    if (rows.length === 0) return;
    const changes = { is_active: false, members_of: [client] };
    await updateUser({ tx, now, audit }, service, member.email, changes, requireAccessAdmin);
  });
  await done.catch((error: unknown) => {
    // Meanwhile, the person has left or got a role.
    if (!(error instanceof Problem)) throw error;
  });
};
