import { setTimeout as sleep } from 'node:timers/promises';
import { IsolationLevel, LockMode } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { Erasure } from '../../../entities/erasure.ts';
import type { Database } from '../../../entities/index.ts';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import type { Clock } from '../../lib/clock.ts';
import { isWithin } from '../users/addresses.ts';
import { isRunning, type RunningErasure, replaceRows, replaceStackTotals } from './erased-rows.ts';

/** Entries of each log that one transaction replaces. */
const LOG_LIMIT = 5_000;
const RETRY_MS = 20;
/** Longer transactions are left to the next run. */
const MAX_WAIT_MS = 60_000;

/** `waiting`: for transactions that started before the erasure, or that changed the same rows. */
type Progress = 'more' | 'waiting' | 'finished';

/**
 * Does what is left of an erasure, in small transactions that any instance may continue, until it is finished, the signal is
 * aborted, or another transaction runs for too long. Returns whether it is finished.
 */
const finishErasure = async (em: Em, id: number, clock: Clock, signal?: AbortSignal): Promise<boolean> => {
  for (let givesUpAt = performance.now() + MAX_WAIT_MS; ; ) {
    const progress = await advance(em, id, clock.now()).catch((error: unknown): Progress => {
      const isRepeatable = problemOfDatabaseError(error)?.code === 'overloaded';
      if (isRepeatable && performance.now() < givesUpAt) return 'waiting';
      throw error;
    });
    if (progress === 'finished') return true;
    if (signal?.aborted) return false;
    if (progress === 'more') {
      givesUpAt = performance.now() + MAX_WAIT_MS;
      continue;
    }
    if (performance.now() > givesUpAt) return false;
    await sleep(RETRY_MS);
  }
};

/** Erasures with work left, in the order in which it is done. */
const unfinishedErasures = (em: Em) =>
  kysely(em).selectFrom('erasures').select('id').where('finished_at', 'is', null).orderBy('id');

/** As `finishErasure`, for all addresses of a person. */
export const finishErasures = async (
  em: Em,
  pseudonym: string,
  clock: Clock,
  signal?: AbortSignal,
): Promise<boolean> => {
  for (const { id } of await unfinishedErasures(em).where('pseudonym', '=', pseudonym).execute())
    if (!(await finishErasure(em, id, clock, signal))) return false;
  return true;
};

/** Finishes the erasures that a request had no time for, or that a killed instance left. One that fails holds up no other. */
export const resumeErasures = async (em: Em, clock: Clock, signal?: AbortSignal): Promise<void> => {
  const failures: unknown[] = [];
  for (const { id } of await unfinishedErasures(em).execute())
    await finishErasure(em, id, clock, signal).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
};

/**
 * One step: waits for transactions that ran at the same time as the replacement of the account and may have written the
 * address after it; then searches the texts of all tables; then replaces rows that hold the address. The last step removes
 * the address from the erasure itself.
 */
const advance = async (em: Em, id: number, now: Date): Promise<Progress> => {
  const isolationLevel = IsolationLevel.REPEATABLE_READ;
  const searched = await em.fork().transactional((tx) => search(tx, id), { isolationLevel });
  return searched === 'complete' ? em.fork().transactional((tx) => conclude(tx, id, now)) : searched;
};

const search = async (tx: Em, id: number): Promise<Progress | 'complete'> => {
  const erasure = await lockErasure(tx, id);
  if (!erasure) return 'finished';
  if (!(await isSettled(tx, erasure))) return 'waiting';
  return (await searchNextPages(tx, erasure)) ? 'more' : 'complete';
};

const conclude = async (tx: Em, id: number, now: Date): Promise<Progress> => {
  const erasure = await lockErasure(tx, id);
  if (!erasure) return 'finished';
  const replaced = await replaceRows(tx, erasure, { now, limit: LOG_LIMIT });
  if (Math.max(replaced.usage_entries, replaced.audit_entries) === LOG_LIMIT) return 'more';
  await replaceStackTotals(tx, erasure);
  // Only the digest of an address is of use afterwards.
  if (erasure.clientIds && erasure.digest === null) tx.remove(erasure);
  else erasure.finish(now);
  await tx.flush();
  return 'finished';
};

/** Two instances take turns. */
const lockErasure = async (tx: Em, id: number): Promise<RunningErasure | null> => {
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const erasure = await tx.findOne(Erasure, { id, finishedAt: null }, { lockMode });
  return erasure && isRunning(erasure) ? erasure : null;
};

/**
 * Whether all transactions of this database that were running when the account was replaced have ended. Transaction ids
 * are those of the whole server. Those whose lock belongs to a session of another database do not count.
 */
const isSettled = async (tx: Em, { transactionId: id }: RunningErasure): Promise<boolean> => {
  const isSettled = condition`not exists (
    select from pg_snapshot_xip(pg_current_snapshot()) as running (id)
    where running.id <= ${id}::text::xid8 and not exists (
      select from pg_locks held join pg_stat_activity session on session.pid = held.pid
      where held.locktype = 'transactionid' and held.mode = 'ExclusiveLock' and held.granted
        and held.transactionid = running.id::xid and session.datname <> current_database()))`;
  const state = await kysely(tx).selectNoFrom(isSettled.as('is_settled')).executeTakeFirstOrThrow();
  return state.is_settled;
};

type OfClients = (clientIds: readonly number[]) => RawBuilder<unknown>;

/** A row `t` of a client. */
const ofClient =
  (clientId: RawBuilder<unknown>): OfClients =>
  (clientIds) =>
    sql`${clientId} = any(${[...clientIds]}::int[])`;

const ofOwnClient = ofClient(sql`t.client_id`);
const ofApp = ofClient(sql`(select client_id from apps where apps.id = t.app_id)`);

/** A row `t` of a person who belongs to no other client. */
const ofMember =
  (userId: RawBuilder<unknown>): OfClients =>
  (clientIds) =>
    sql`not exists (select from memberships m
      where m.user_id = ${userId} and m.client_id <> all(${[...clientIds]}::int[]))`;

const ofUser = ofMember(sql`t.user_id`);

/** The audit entry of the event of a delivery `t`. */
const ENTRY = sql`events join audit_entries entry on entry.id = events.entry_id where events.id = t.event_id`;

type SearchedTable = {
  columns: readonly string[];
  /** Which rows belong to clients, for erasures that concern some clients only. */
  isOf: OfClients;
  /** When a row was written. A text without a time may name another person who had the address before, or has it now. */
  at?: RawBuilder<unknown>;
  /** A name in these texts, such as that of the client, is the person's only beside their address. */
  onlyWithAddress?: true;
};

/** Texts by or about any person, in which an erasure replaces the person's address, handle and full name. */
export const SEARCHED = {
  access_requests: { isOf: ofApp, columns: ['reason', 'decision_reason'] },
  access_views: { isOf: ofApp, columns: ['data_permissions', 'selections', 'flags'] },
  access_view_uses: {
    isOf: ofClient(
      sql`(select a.client_id from access_views v join apps a on a.id = v.app_id where v.id = t.access_view_id)`,
    ),
    columns: ['data_permissions', 'selections'],
  },
  api_tokens: { isOf: ofUser, columns: ['name'] },
  app_grants: { isOf: ofApp, columns: ['reason'] },
  apps: {
    isOf: ofOwnClient,
    columns: ['label', 'description', 'help_html', 'footer_html', 'maintenance_message', 'package_info'],
  },
  clients: {
    isOf: ofClient(sql`t.id`),
    onlyWithAddress: true,
    columns: [
      ...['name', 'default_from_email', 'support_email', 'invitation_subject', 'invitation_body'],
      ...['login_title', 'login_subtitle', 'home_location', 'subtitle_404', 'message_404'],
      ...['subtitle_500', 'message_500'],
    ],
  },
  client_domains: { isOf: ofOwnClient, columns: ['vouched_by'] },
  groups: { isOf: ofOwnClient, columns: ['name'] },
  fetched_packages: {
    isOf: ofClient(sql`(select client_id from apps where apps.slug = t.slug)`),
    columns: ['manifest', 'fetched_by'],
  },
  invitations: { isOf: ofOwnClient, columns: ['extra'] },
  loaded_packages: { isOf: ofApp, columns: ['loaded_by'] },
  memberships: { isOf: ofOwnClient, columns: ['extra'] },
  mfa_factors: { isOf: ofUser, columns: ['name'] },
  operation_changes: { isOf: ofUser, columns: ['revoked_terms'] },
  outbox_mails: { isOf: ofOwnClient, columns: ['last_error', 'variables'] },
  saved_filters: {
    isOf: ofClient(
      sql`(select a.client_id from stacks s join apps a on a.id = s.app_id where s.id = t.stack_id)`,
    ),
    columns: ['name'],
  },
  sites: { isOf: () => sql`false`, columns: ['name'] },
  sso_connections: {
    isOf: ofOwnClient,
    columns: ['name', 'email_claim', 'first_name_claim', 'last_name_claim', 'groups_claim'],
  },
  stacks: { isOf: ofApp, columns: ['label'] },
  usage_entries: { isOf: ofApp, columns: ['entry_key', 'action_description', 'stack', 'extra'] },
  users: { isOf: ofMember(sql`t.id`), columns: ['extra'] },
  webhook_deliveries: {
    isOf: (clientIds) => sql`exists (
      select from ${ENTRY} and (entry.client_ids = '{}' or entry.client_ids && ${[...clientIds]}::int[]))`,
    at: sql`(select occurred_at from ${ENTRY})`,
    columns: ['response', 'body'],
  },
  webhooks: { isOf: ofOwnClient, columns: ['description'] },
} satisfies Partial<Record<keyof Database, SearchedTable>>;

/** Pages of a table that one transaction searches: 16 MiB. */
const PAGES = 2_048;
/** Pages in which one statement searches for new rows, without reading other rows: 512 MiB. */
const NEW_ROW_PAGES = 65_536;
/** Stands for all pages of a table, as the number of pages that are done: no table has as many. */
const ALL_PAGES = 2 ** 32;

/**
 * Replaces the person in the texts of the next pages, and records them as done. An update may move a row to a page that
 * was searched before; therefore, the last transaction of each table also searches all rows of it that were written since
 * the erasure began. Requires an isolation level with one snapshot, in which each row is in one place: a row that another
 * transaction changes at the same time fails the transaction, which has to be repeated.
 * @returns whether there was anything to search
 */
const searchNextPages = async (tx: Em, erasure: RunningErasure): Promise<boolean> => {
  const [range] = await nextRanges(tx, erasure);
  if (!range) return false;
  const { start, end, pages } = range;
  const isLast = end === pages;
  await replaceTexts(tx, erasure, range, inPages(start, end));
  if (isLast && start > 0)
    for (let page = 0; page < pages; page += NEW_ROW_PAGES)
      await replaceTexts(
        tx,
        erasure,
        range,
        sql`${inPages(page, page + NEW_ROW_PAGES)} and ${isNew(erasure)}`,
      );
  erasure.searched(range.name, isLast ? ALL_PAGES : end);
  await tx.flush();
  return true;
};

/**
 * Call it in the transaction that restores a backup: in the restored database, rows have other places, and transactions
 * other ids.
 */
export const RESTART_SEARCHES = `update erasures set transaction_id = pg_current_xact_id()::text,
  scanned_table = null, scanned_block = 0 where finished_at is null`;

type Range = {
  name: string;
  /** The table whose partition it may be. */
  root: keyof typeof SEARCHED;
  columns: { name: string; type: string }[];
  start: number;
  end: number;
  pages: number;
};

/** The next pages to search, in the order of table names. Partitions of a table are searched one by one. */
const nextRanges = async (tx: Em, erasure: RunningErasure): Promise<Range[]> => {
  const { scannedTable: scanned, scannedBlock: block } = erasure;
  const tables = Object.entries(SEARCHED).map(([name, { columns }]) => ({ name, columns }));
  const { rows } = await sql<Range>`
    with searched as (select * from json_to_recordset(${JSON.stringify(tables)}::json) as t (name text, columns json)),
    parts as (
      select c.oid, c.relname::text collate "C" as name, searched.name as root,
        ceil(pg_relation_size(c.oid) / current_setting('block_size')::float)::int as pages
      from searched join pg_class root on root.relname = searched.name
        and root.relnamespace = current_schema()::regnamespace
      cross join lateral (select root.oid union all select inhrelid from pg_inherits where inhparent = root.oid) as part (oid)
      join pg_class c on c.oid = part.oid
      where c.relkind = 'r')
    select parts.name, parts.root, (
        select json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod)) order by attnum)
        from pg_attribute join searched on searched.name = parts.root
        where attrelid = parts.oid and attname in (select json_array_elements_text(searched.columns))) as columns,
      coalesce(part_start, 0)::int as start, least(pages, coalesce(part_start, 0) + ${PAGES})::int as end, pages
    from parts left join lateral (select ${block}::bigint as part_start where parts.name = ${scanned}) as current on true
    where (${scanned}::text is null or parts.name >= ${scanned}) and coalesce(part_start, 0) < pages
    order by parts.name limit 1`.execute(kysely(tx));
  return rows;
};

const inPages = (start: number, end: number) =>
  sql`t.ctid >= ${sql.lit(`(${start},0)`)}::tid and t.ctid < ${sql.lit(`(${end},0)`)}::tid`;

/** Transactions up to the one that replaced the account had ended before the search began. */
const isNew = ({ transactionId: id }: RunningErasure) => sql`age(t.xmin) <= age(${id}::text::xid8::xid)`;

/** Casts back to the column's type, which truncates a text that has become too long. */
const replaceTexts = async (
  tx: Em,
  { id, clientIds, since, until }: RunningErasure,
  { name, root, columns }: Range,
  isWanted: RawBuilder<unknown>,
): Promise<void> => {
  const text = (column: string) => sql`t.${sql.ref(column)}::text`;
  const isNamed = sql.join(
    columns.map((column) => sql`lower(${text(column.name)}) like any (e.needles)`),
    sql` or `,
  );
  const erased = (column: string, type: string) =>
    sql`${sql.raw(type.startsWith('json') ? 'erased_json' : 'erased_text')}(${text(column)}, e)::${sql.raw(type)}`;
  const { isOf, at, onlyWithAddress }: SearchedTable = SEARCHED[root];
  const replaced = (column: string, type: string) =>
    clientIds && onlyWithAddress
      ? sql`case when strpos(lower(${text(column)}), e.address) > 0 then ${erased(column, type)} else t.${sql.ref(column)} end`
      : erased(column, type);
  const changes = sql.join(
    columns.map(({ name: column, type }) => sql`${sql.ref(column)} = ${replaced(column, type)}`),
  );
  const isOfTime = at ? isWithin(at, { since, until }) : sql.lit(!since && !until);
  await sql`
    update ${sql.table(name)} t set ${changes} from erasures e
    where e.id = ${id} and ${isWanted} and (${isNamed})
      and ${clientIds ? isOf(clientIds) : sql`true`} and ${isOfTime}`.execute(kysely(tx));
};
