import { type RawBuilder, sql } from 'kysely';
import type { Erasure } from '../../../entities/erasure.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { moveUsageDays } from '../usage/usage-days.ts';
import { lockUsage } from '../usage/usage-writes.ts';

/** An erasure with work left. */
export type RunningErasure = Erasure & { address: string };

export const isRunning = (erasure: Erasure): erasure is RunningErasure => erasure.address !== null;

/** Rows that were replaced, by table. */
export type ReplacedRows = Record<'usage_entries' | 'audit_entries' | 'invitations' | 'outbox_mails', number>;

type Options = {
  now: Date;
  /** Entries of the usage log, and of the audit trail. */
  limit: number;
};

/**
 * Replaces the person in all rows that hold their address, but in at most `limit` entries of each log. Idempotent:
 * replaced rows are no longer found.
 */
export const replaceRows = async (
  tx: Em,
  erasure: RunningErasure,
  { now, limit }: Options,
): Promise<ReplacedRows> => {
  const count = async (statement: RawBuilder<unknown>): Promise<number> =>
    Number((await statement.execute(kysely(tx))).numAffectedRows ?? 0);
  for (const column of ['default_from_email', 'support_email'].map((name) => sql.ref(name)))
    await count(sql`update clients set ${column} = '' where lower(${column}) = ${erasure.address}`);
  await moveUsageDays(erasure.address, erasure.pseudonym).execute(kysely(tx));
  return {
    usage_entries: await count(replaceUsage(erasure, limit)),
    audit_entries: await count(replaceAudit(erasure, limit)),
    invitations: await count(replaceInvitations(erasure, now)),
    outbox_mails: await count(replaceMails(erasure, now)),
  };
};

/** `extra` holds what the platform knows of the person's requests: addresses, devices. */
const replaceUsage = ({ address, pseudonym, id }: RunningErasure, limit: number) => sql`
  update usage_entries u set email = ${pseudonym}, full_name = '', extra = '{}',
    action_description = erased_text(u.action_description, e),
    entry_key = left(erased_text(u.entry_key, e), 128)
  from erasures e, (
    select app_id, occurred_at, id from usage_entries where email = ${address} limit ${limit}) own
  where e.id = ${id} and u.app_id = own.app_id and u.occurred_at = own.occurred_at and u.id = own.id`;

/**
 * Replaces the person in the totals by stack, whose names are what platforms report. Those that get the same name are added up.
 * To be run after the log was searched, so that totals that were recomputed in between are found, too.
 */
export const replaceStackTotals = async (tx: Em, { id }: RunningErasure): Promise<void> => {
  const db = kysely(tx);
  const { rows } = await sql<{ app_id: string }>`
    select distinct app_id from usage_stack_days d join erasures e on e.id = ${id}
    where lower(d.stack) like any (e.needles) order by app_id`.execute(db);
  for (const { app_id: appId } of rows) {
    await lockUsage(appId).execute(db);
    await sql`
      with moved as (
        delete from usage_stack_days d using erasures e
        where e.id = ${id} and d.app_id = ${appId} and erased_text(d.stack, e) <> d.stack
        returning d.day, left(erased_text(d.stack, e), 255) as stack, d.actions)
      insert into usage_stack_days (app_id, day, stack, actions)
      select ${appId}, day, stack, sum(actions) from moved group by day, stack
      on conflict (app_id, day, stack) do update set actions = usage_stack_days.actions + excluded.actions`.execute(
      db,
    );
  }
};

/** The trigger of the audit trail compares each row with the same function. */
const replaceAudit = ({ address, id }: RunningErasure, limit: number) => sql`
  update audit_entries a set (actor_email, target, details, address) =
    (select x.actor_email, x.target, x.details, x.address from erased_audit_entry(a, e) x)
  from erasures e
  where e.id = ${id} and a.id = any(array(
    select id from (
      (select id from audit_entries where actor_email = ${address} limit ${limit})
      union (select id from audit_entries where target = ${address} limit ${limit})) own
    limit ${limit}))`;

const replaceInvitations = ({ address, pseudonym }: RunningErasure, now: Date) => sql`
  update invitations set email = ${pseudonym}, extra = '{}',
    closed_at = case when status = 'pending' then ${now}::timestamptz else closed_at end,
    status = case when status = 'pending' then 'revoked' else status end
  where email = ${address}`;

/** With another number of attempts, the failure of a running delivery is not recorded: it may quote the address. */
const replaceMails = ({ address, pseudonym, userId }: RunningErasure, now: Date) => sql`
  update outbox_mails set recipient = ${pseudonym}, request_address = null, attempts = attempts + 1,
    last_error = case when sent_at is null then 'The recipient was erased.' end,
    failed_at = case when sent_at is null then coalesce(failed_at, ${now}::timestamptz) else failed_at end
  where recipient = ${address} or (user_id = ${userId} and recipient <> ${pseudonym})`;
