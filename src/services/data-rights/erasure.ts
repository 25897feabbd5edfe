import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockMode } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { Erasure } from '../../../entities/erasure.ts';
import { User } from '../../../entities/user.ts';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { clientIdsOf, condition, type Em, kysely } from '../../db/kysely.ts';
import type { Clock } from '../../lib/clock.ts';
import { ERASED_DOMAIN, isPseudonym, isServiceAddress } from '../../lib/email-address.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { revokeCredentials } from '../accounts/access-ends.ts';
import { lockSuperusers, requireAnotherSuperuser } from '../accounts/user-locks.ts';
import { ofAddress, ofUser, type Transaction } from '../audit/audit.ts';
import { deleteCounts } from '../auth/login-limits.ts';
import type { AddressDigest } from '../usage/erasure-keys.ts';
import { isUsageOf, moveUsageDays, usedApps } from '../usage/usage-days.ts';
import { lockUsage } from '../usage/usage-writes.ts';

/** Limit of entries of each log per transaction: it takes a second or two. */
const FIRST_BATCH = 20_000;
const BATCH = 5_000;
const RETRY_MS = 50;
/** Transactions that take longer are left to the next run. */
const MAX_WAIT_MS = 60_000;

/** Tables whose rows belong to one person, in `user_id`. */
const PERSONAL_TABLES = [
  ...(['saved_filter_defaults', 'saved_filters', 'list_view_pins', 'list_views'] as const),
  ...(['app_grants', 'group_members', 'access_requests', 'memberships'] as const),
  ...([
    'idempotent_responses',
    'launch_codes',
    'access_views',
    'operation_changes',
    'view_as',
    'email_changes',
  ] as const),
  ...(['mfa_factors', 'external_identities', 'recovery_codes', 'openid_consents'] as const),
] as const;

/** The person whom an erasure replaces: an account and all its addresses, or an address without an account. */
type Person = { userId: number | null; pseudonym: string; addresses: readonly string[] };

type ReplacedRows = Record<'usage_entries' | 'audit_entries' | 'invitations' | 'outbox_mails', number>;

type Deps = Transaction & { addressDigest: AddressDigest };

export type LockedPerson = Awaited<ReturnType<typeof lockPerson>>;

/**
 * Locks a person who may be erased, even one who was erased before. All superusers are locked first, because the person may be one of them.
 * @param actor null for the operator at the command line
 * @throws Problem `not-found`, `self-modification`, `last-superuser`, `unauthenticated`
 */
export const lockPerson = async (tx: Em, actor: Actor | null, email: string) => {
  // A service account is removed, not erased.
  if (isServiceAddress(email)) throw notFound('user');
  await lockSuperusers(tx, actor);
  const person = await kysely(tx)
    .selectFrom('users')
    .select(['id', 'email', 'handle', 'first_name', 'last_name', 'is_active', 'is_staff', 'is_superuser'])
    .select(['last_password_set', 'last_login', 'date_joined'])
    .where('email', '=', email)
    .forUpdate()
    .executeTakeFirstOrThrow(() => notFound('user'));
  if (person.id === actor?.id) throw new Problem('self-modification');
  if (person.is_superuser) await requireAnotherSuperuser(tx, person);
  return { ...person, clientIds: await clientIdsOf(tx, person.id) };
};

/** The present and the former addresses of an account. */
export const readAddresses = async (em: Em, { id, email }: Pick<LockedPerson, 'id' | 'email'>) => {
  const former = kysely(em).selectFrom('email_changes').select('old_email').distinct();
  const rows = await former.where('user_id', '=', id).where('changed_at', 'is not', null).execute();
  return [...new Set([email, ...rows.map((row) => row.old_email)])];
};

/**
 * Turns a locked person into a pseudonym without access, and begins the erasure. A request in the same transaction must not write the
 * address afterwards.
 * @returns the pseudonym
 */
export const eraseAccount = async (
  deps: Deps,
  actor: Actor | null,
  person: LockedPerson,
): Promise<string> => {
  const { tx, now, audit } = deps;
  const addresses = await readAddresses(tx, person);
  const erased = { userId: person.id, pseudonym: newPseudonym(), addresses };
  await lockReports(tx, erased);
  const user = await tx.findOneOrFail(User, person.id, { refresh: true });
  user.erase(erased.pseudonym, now);
  await tx.flush();
  const db = kysely(tx);
  await db.updateTable('users').set({ password_hash: null }).where('id', '=', person.id).execute();
  await revokeCredentials(tx, person.id);
  for (const table of PERSONAL_TABLES) await db.deleteFrom(table).where('user_id', '=', person.id).execute();
  const details = await begin(deps, erased);
  await lockAccessChange(tx, person.id, actor);
  const target = ofUser({ id: person.id, email: erased.pseudonym });
  await audit.record(tx, [{ action: 'user.erase', actor, target, clients: person.clientIds, details }]);
  return erased.pseudonym;
};

/** Erases the records under an address without an account. @returns the pseudonym */
export const eraseAddress = async (deps: Deps, address: string): Promise<string> => {
  const erased = { userId: null, pseudonym: newPseudonym(), addresses: [address] };
  await lockReports(deps.tx, erased);
  const details = await begin(deps, erased);
  const target = ofAddress(erased.pseudonym);
  await deps.audit.record(deps.tx, [{ action: 'user.erase', actor: null, target, details }]);
  return erased.pseudonym;
};

const newPseudonym = (): string => `erased-${randomBytes(8).toString('hex')}@${ERASED_DOMAIN}`;

/** Writers of usage hold these locks until they commit. Afterwards, they see the erasure. */
const lockReports = async (tx: Em, { userId, addresses }: Person): Promise<void> => {
  const apps = await usedApps(tx, isUsageOf(userId, addresses));
  for (const appId of apps) await lockUsage(appId).execute(kysely(tx));
};

const begin = async ({ tx, now, addressDigest }: Deps, erased: Person): Promise<ReplacedRows> => {
  const { userId, pseudonym, addresses } = erased;
  const digests = addresses.flatMap((address) =>
    isPseudonym(address) ? [] : (addressDigest(address) ?? []),
  );
  const db = kysely(tx);
  // Uses Kysely, which does not write digests and addresses into the text of the statement.
  await db
    .insertInto('erasures')
    .values({ user_id: userId, pseudonym, digests, started_at: now, addresses: [...addresses] })
    .execute();
  for (const address of addresses) await deleteCounts(tx, address);
  return replaceRows(tx, erased, { now, limit: FIRST_BATCH });
};

/**
 * Replaces the person in rows that name them by id, or that contain only an address, but in at most `limit` entries of each log.
 * Idempotent: replaced rows are not found again. Texts that others wrote stay.
 */
const replaceRows = async (
  tx: Em,
  { userId, pseudonym, addresses }: Person,
  { now, limit }: { now: Date; limit: number },
): Promise<ReplacedRows> => {
  const run = async (statement: RawBuilder<unknown>): Promise<number> =>
    Number((await statement.execute(kysely(tx))).numAffectedRows ?? 0);
  const isNamed = (column: string) => condition`${sql.ref(column)} = any(${[...addresses]}::varchar[])`;
  const isOwn = (column = 'user_id') => condition`coalesce(${sql.ref(column)} = ${userId}::int, false)`;

  const contacts = sql.join(
    ['default_from_email', 'support_email'].map(
      (column) =>
        sql`${sql.ref(column)} = case when ${isContact(column, addresses)} then '' else ${sql.ref(column)} end`,
    ),
  );
  await run(sql`update clients set ${contacts}
    where ${isContact('default_from_email', addresses)} or ${isContact('support_email', addresses)}`);
  await run(sql`update fetched_packages set fetched_by = ${pseudonym} where ${isNamed('fetched_by')}`);
  await run(sql`update loaded_packages set loaded_by = ${pseudonym} where ${isNamed('loaded_by')}`);
  await run(
    sql`delete from directory_people where ${isNamed('email')} or addresses && ${[...addresses]}::text[]`,
  );
  await run(sql`delete from directory_requests
    where exists (select from unnest(${[...addresses]}::text[]) address where strpos(lower(concat_ws(' ', path, error)), address) > 0)`);
  await run(sql`update access_view_uses set ip_address = '', user_agent = '' where ${isOwn()}`);
  // The parts of mails to others that are about the person.
  await run(sql`update outbox_mails set variables = variables - 'access_request' - 'look' - 'reminder'
    where (variables -> 'access_request' ->> 'user_id')::int = ${userId}::int
      or (variables -> 'look' ->> 'actor_id')::int = ${userId}::int
      or variables -> 'reminder' -> 'grants' @> ${JSON.stringify([{ user_id: userId }])}::jsonb`);
  for (const address of addresses) await moveUsageDays(address, { userId, pseudonym }).execute(kysely(tx));

  return {
    invitations: await run(sql`
      update invitations set email = ${pseudonym}, first_name = '', last_name = '', extra = '{}',
        closed_at = case when status = 'pending' then ${now}::timestamptz else closed_at end,
        status = case when status = 'pending' then 'revoked' else status end
      where (${isNamed('email')} or ${isOwn()}) and email <> ${pseudonym}`),
    // Increments `attempts`, so that the failure of a running delivery is not recorded: it may quote the address.
    outbox_mails: await run(sql`
      update outbox_mails set recipient = ${pseudonym}, request_address = null, variables = null, attempts = attempts + 1,
        last_error = case when sent_at is null then 'The recipient was erased.' end,
        failed_at = case when sent_at is null then coalesce(failed_at, ${now}::timestamptz) else failed_at end
      where (${isNamed('recipient')} or ${isOwn()}) and recipient <> ${pseudonym}`),
    usage_entries: await run(sql`
      update usage_entries u set user_id = ${userId}::int, email = ${pseudonym}, full_name = '', extra = '{}',
        action_description = '', entry_key = null
      from (select app_id, occurred_at, id from usage_entries
        where (user_id = ${userId}::int or user_id is null and ${isNamed('email')}) and email <> ${pseudonym}
        limit ${limit}) own
      where u.app_id = own.app_id and u.occurred_at = own.occurred_at and u.id = own.id`),
    audit_entries: await replaceAudit(tx, { userId, pseudonym, addresses }, limit),
  };
};

/** Whether the column contains one of the addresses, with or without a name: `Ada <ada@acme.test>`. */
const isContact = (column: string, addresses: readonly string[]) => condition`
  array[lower(${sql.ref(column)}), lower(substring(${sql.ref(column)} from '<([^<>]+)>\\s*$'))] && ${[...addresses]}::text[]`;

/**
 * Details name people by id only. The network address is the person's in entries about their own actions, and in logins to their account.
 */
const replaceAudit = async (
  tx: Em,
  { userId, pseudonym, addresses }: Person,
  limit: number,
): Promise<number> => {
  const isActor = condition`coalesce(actor_id = ${userId}::int, false)`;
  const isTarget = condition`(coalesce(target_type = 'user' and target_id = ${userId}::text, false)
    or (target_type is distinct from 'user' or target_id is null) and target_label = any(${[...addresses]}::varchar[]))`;
  await sql`select set_config('steward.erasing', 'on', true)`.execute(kysely(tx));
  const { numAffectedRows } = await sql`
    update audit_entries set actor_label = case when ${isActor} then ${pseudonym} else actor_label end,
      target_label = case when ${isTarget} then ${pseudonym} else target_label end,
      address = case when ${isActor} or actor_id is null then null else address end
    where id in (
      (select id from audit_entries where actor_id = ${userId}::int and actor_label <> ${pseudonym} limit ${limit})
      union (select id from audit_entries where target_type = 'user' and target_id = ${userId}::text
        and target_label <> ${pseudonym} limit ${limit})
      union (select id from audit_entries where (target_type is distinct from 'user' or target_id is null)
        and target_label = any(${[...addresses]}::varchar[]) limit ${limit}))`.execute(kysely(tx));
  return Number(numAffectedRows ?? 0);
};

/** `waiting`: for transactions that started before the erasure, or that have locked the same rows. */
type Progress = 'more' | 'waiting' | 'finished';

/**
 * Continues unfinished erasures in small transactions that any instance may continue, until they are finished, the signal is aborted, or
 * another transaction runs for too long. A failed erasure does not block the others.
 * @param pseudonym of one person; without it, all erasures
 * @returns whether they are finished
 */
export const finishErasures = async (
  em: Em,
  clock: Clock,
  { pseudonym, signal }: { pseudonym?: string; signal?: AbortSignal | undefined } = {},
): Promise<boolean> => {
  let unfinished = kysely(em).selectFrom('erasures').select('id').where('finished_at', 'is', null);
  if (pseudonym !== undefined) unfinished = unfinished.where('pseudonym', '=', pseudonym);
  const outcomes = [];
  for (const { id } of await unfinished.orderBy('id').execute())
    outcomes.push(await finishErasure(em, id, clock, signal).catch((error: Error) => error));
  const failure = outcomes.find((outcome) => typeof outcome !== 'boolean');
  if (failure) throw failure;
  return outcomes.every(Boolean);
};

const finishErasure = async (em: Em, id: number, clock: Clock, signal?: AbortSignal): Promise<boolean> => {
  for (let givesUpAt = performance.now() + MAX_WAIT_MS; ; ) {
    const step = em.fork().transactional((tx) => advance(tx, id, clock.now()));
    const progress = await step.catch((error: unknown): Progress => {
      if (problemOfDatabaseError(error)?.code === 'overloaded') return 'waiting';
      throw error;
    });
    if (progress === 'finished') return true;
    if (signal?.aborted || performance.now() > givesUpAt) return false;
    if (progress === 'more') givesUpAt = performance.now() + MAX_WAIT_MS;
    else await sleep(RETRY_MS);
  }
};

/** Two instances take turns. The last step clears the addresses. */
const advance = async (tx: Em, id: number, now: Date): Promise<Progress> => {
  const erasure = await tx.findOne(
    Erasure,
    { id, finishedAt: null },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (!erasure?.addresses) return 'finished';
  // Before the rows are replaced, so that rows committed until then are replaced, too.
  erasure.untilTransaction ??= await nextTransaction(tx);
  const settled = await isSettled(tx, erasure.untilTransaction);
  const { userId = null, pseudonym, addresses } = erasure;
  const replaced = await replaceRows(tx, { userId, pseudonym, addresses }, { now, limit: BATCH });
  if (Math.max(replaced.usage_entries, replaced.audit_entries) >= BATCH) return 'more';
  if (!settled) return 'waiting';
  erasure.finish(now);
  await tx.flush();
  return 'finished';
};

/** The id of the next transaction. */
const nextTransaction = async (tx: Em): Promise<string> => {
  const next = sql<string>`pg_snapshot_xmax(pg_current_snapshot())::text`;
  return (await kysely(tx).selectNoFrom(next.as('next')).executeTakeFirstOrThrow()).next;
};

/**
 * Whether all transactions of this database before this one have ended: they may have written the address after the account was replaced.
 * Transaction ids count for the whole server; transactions in sessions of other databases are ignored.
 */
const isSettled = async (tx: Em, before: string): Promise<boolean> => {
  const isSettled = condition`not exists (
    select from pg_snapshot_xip(pg_current_snapshot()) as running (id)
    where running.id < ${before}::text::xid8 and not exists (
      select from pg_locks held join pg_stat_activity session on session.pid = held.pid
      where held.locktype = 'transactionid' and held.mode = 'ExclusiveLock' and held.granted
        and held.transactionid = running.id::xid
        and (session.datname <> current_database() or session.pid = pg_backend_pid())))`;
  return (await kysely(tx).selectNoFrom(isSettled.as('is_settled')).executeTakeFirstOrThrow()).is_settled;
};

/** Run it in the transaction that restores a backup: in the restored database, transactions have other ids. */
export const RESTART_ERASURES = 'update erasures set until_transaction = null where finished_at is null';
