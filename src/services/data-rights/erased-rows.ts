import { type RawBuilder, sql } from 'kysely';
import type { Erasure } from '../../../entities/erasure.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { moveUsageDays } from '../usage/usage-days.ts';
import { lockUsage } from '../usage/usage-writes.ts';
import { isWithin } from '../users/addresses.ts';

/** An erasure with work left. */
export type RunningErasure = Erasure & { address: string };

export const isRunning = (erasure: Erasure): erasure is RunningErasure => erasure.address !== null;

/** Rows that were replaced, by table. */
export type ReplacedRows = Record<'usage_entries' | 'audit_entries' | 'invitations' | 'outbox_mails', number>;

/** Rows of a client that the erasure concerns. */
const isIn = ({ clientIds }: RunningErasure, clientId: RawBuilder<unknown>): RawBuilder<unknown> =>
  clientIds ? sql`${clientId} = any(${clientIds}::int[])` : sql`true`;

const OF_APP = sql`(select client_id from apps where apps.id = app_id)`;

/**
 * Replaces the person in all rows that hold their address, but in at most `limit` entries of the usage log, and of the audit
 * trail. Idempotent: replaced rows are no longer found.
 */
export const replaceRows = async (
  tx: Em,
  erasure: RunningErasure,
  { now, limit }: { now: Date; limit: number },
): Promise<ReplacedRows> => {
  const count = async (statement: RawBuilder<unknown>): Promise<number> =>
    Number((await statement.execute(kysely(tx))).numAffectedRows ?? 0);
  await sql`select set_config('steward.erasing', 'on', true)`.execute(kysely(tx));
  if (!erasure.until) await count(replaceContacts(erasure));
  await count(replaceRequestsInMails(erasure));
  await count(replaceReportsOfGrants(erasure));
  await moveUsageDays(erasure.address, erasure.pseudonym).execute(kysely(tx));
  return {
    usage_entries: await count(replaceUsage(erasure, limit)),
    audit_entries: await count(replaceAudit(erasure, limit)),
    invitations: await count(replaceInvitations(erasure, now)),
    outbox_mails: await count(replaceMails(erasure, now)),
  };
};

/** Whether the column has the address, perhaps after a name: `Ada <ada@acme.test>`. */
export const isContact = (column: string, address: string) =>
  condition`${address} in (lower(${sql.ref(column)}), lower(substring(${sql.ref(column)} from '<([^<>]+)>\\s*$')))`;

const replaceContacts = (erasure: RunningErasure) => {
  const { address } = erasure;
  const emptied = (column: string) =>
    sql`${sql.ref(column)} = case when ${isContact(column, address)} then '' else ${sql.ref(column)} end`;
  return sql`
    update clients set ${emptied('default_from_email')}, ${emptied('support_email')}
    where (${isContact('default_from_email', address)} or ${isContact('support_email', address)})
      and ${isIn(erasure, sql`id`)}`;
};

/** `extra` holds what the platform knows of the person's requests: addresses, devices. */
const replaceUsage = (erasure: RunningErasure, limit: number) => sql`
  update usage_entries u set email = ${erasure.pseudonym}, full_name = '', extra = '{}',
    action_description = erased_text(u.action_description, e),
    entry_key = left(erased_text(u.entry_key, e), 128)
  from erasures e, (
    select app_id, occurred_at, id from usage_entries
    where (user_id = ${erasure.userId} and email <> ${erasure.pseudonym}
      or user_id is null and email = ${erasure.address} and ${isIn(erasure, OF_APP)}
        and ${isWithin(sql.ref('occurred_at'), erasure)}) limit ${limit}) own
  where e.id = ${erasure.id} and u.app_id = own.app_id and u.occurred_at = own.occurred_at and u.id = own.id`;

/**
 * Replaces the person in the totals by stack, whose names are what platforms report. Those that get the same name are added up.
 * To be run after the log was searched, so that totals that were recomputed in between are found, too.
 */
export const replaceStackTotals = async (tx: Em, erasure: RunningErasure): Promise<void> => {
  const db = kysely(tx);
  const { id } = erasure;
  const apps = await db
    .selectFrom('usage_stack_days as d')
    .innerJoin('erasures as e', (join) => join.on('e.id', '=', id))
    .select('app_id')
    .distinct()
    .where(condition`lower(d.stack) like any (e.needles) and ${isIn(erasure, OF_APP)}`)
    .orderBy('app_id')
    .execute();
  for (const { app_id: appId } of apps) {
    await lockUsage(appId).execute(db);
    await sql`
      with moved as (
        delete from usage_stack_days d using erasures e
        where e.id = ${id} and d.app_id = ${appId} and erased_text(d.stack, e) <> d.stack
        returning d.day, left(erased_text(d.stack, e), 255) as stack, d.actions)
      insert into usage_stack_days (app_id, day, stack, actions)
      select ${appId}, day, stack, sum(actions) from moved group by day, stack
      on conflict (app_id, day, stack) do update
        set actions = usage_stack_days.actions + excluded.actions`.execute(db);
  }
};

/** The network address is that of the person in what they did, and in logins to their account. */
const replaceAudit = ({ userId, address, pseudonym }: RunningErasure, limit: number) => {
  const isActor = sql`actor_id = ${userId}`;
  const isTarget = sql`(target_type = 'user' and target_id = ${String(userId)}
    or (target_type is distinct from 'user' or target_id is null) and target_label = ${address})`;
  const isLeft = (column: string) => sql`${sql.ref(column)} <> ${pseudonym}`;
  return sql`
  update audit_entries set actor_label = case when ${isActor} then ${pseudonym} else actor_label end,
    target_label = case when ${isTarget} then ${pseudonym} else target_label end,
    address = case when ${isActor} or actor_id is null then null else address end
  where id = any(array(
    select id from (
      (select id from audit_entries where ${isActor} and ${isLeft('actor_label')} limit ${limit})
      union (select id from audit_entries where ${isTarget} and ${isLeft('target_label')} limit ${limit})) own
    limit ${limit}))`;
};

const replaceInvitations = (erasure: RunningErasure, now: Date) => sql`
  update invitations set email = ${erasure.pseudonym}, first_name = '', last_name = '', extra = '{}',
    closed_at = case when status = 'pending' then ${now}::timestamptz else closed_at end,
    status = case when status = 'pending' then 'revoked' else status end
  where email = ${erasure.address} and ${isIn(erasure, sql`client_id`)}
    and ${isWithin(sql.ref('date_invited'), erasure)}`;

/** With another number of attempts, the failure of a running delivery is not recorded: it may quote the address. */
const replaceMails = (erasure: RunningErasure, now: Date) => sql`
  update outbox_mails set recipient = ${erasure.pseudonym}, request_address = null, variables = variables - 'first_name',
    attempts = attempts + 1,
    last_error = case when sent_at is null then 'The recipient was erased.' end,
    failed_at = case when sent_at is null then coalesce(failed_at, ${now}::timestamptz) else failed_at end
  where recipient = ${erasure.address} and ${isIn(erasure, sql`client_id`)}
      and ${isWithin(sql.ref('created_at'), erasure)}
    or (user_id = ${erasure.userId} and recipient <> ${erasure.pseudonym})`;

/** Mails to admins are about the person's requests, and mails to the person about the decisions. */
const replaceRequestsInMails = ({ userId }: RunningErasure) => sql`
  update outbox_mails set variables = variables - 'access_request'
  where kind in ('access-requested', 'access-decided')
    and (variables -> 'access_request' ->> 'user_id')::int = ${userId}`;

/** Mails to admins that list the grants of the person. */
const replaceReportsOfGrants = ({ userId }: RunningErasure) => sql`
  update outbox_mails set variables = variables - 'reminder'
  where kind = 'access-ending-report'
    and variables -> 'reminder' -> 'grants' @> ${JSON.stringify([{ user_id: userId }])}::jsonb`;
