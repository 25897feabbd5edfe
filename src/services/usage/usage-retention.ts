import type { ClientBase } from 'pg';
import { DAY_MS } from '../../lib/clock.ts';
import { FIRST_DAY, monthOf } from './usage-partitions.ts';
import { LONGEST_WINDOW_DAYS } from './usage-rollups.ts';

/** A session of its own without time limits: detaching waits for all who read, and nobody waits for it. */
export type OpenSession = () => Promise<ClientBase & { end: () => Promise<void> }>;

/**
 * Held by a transaction while months are dropped: see RETENTION_LOCK. A pooler may give the sessions of one client to others,
 * and with them whatever lasts longer than a transaction.
 */
const TRY_LOCK = `select pg_try_advisory_xact_lock(hashtextextended('usage retention', 0)) as held`;
/** Stands with a table from before it is detached until it is dropped, so that no other table ever is. */
const MARK = 'A month of usage that Steward is dropping.';

/** Days by person are kept for the longest window: no window asks whether a person was there before it began. */
const MIN_DAYS_BY_PERSON = LONGEST_WINDOW_DAYS;

type Partition = { name: string; parent: string; month: string | null; isDetaching: boolean };

/** Those that are being detached first: a table can have but one. */
const ATTACHED = `
  select inhrelid::regclass::text as name, inhparent::regclass::text as parent, inhdetachpending as "isDetaching",
    ${FIRST_DAY} as month
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent in ('usage_entries'::regclass, 'usage_days'::regclass)
  order by inhdetachpending desc, month`;

/** What an interrupted round has detached and not dropped. */
const DETACHED = `
  select pg_class.oid::regclass::text as name from pg_class join pg_description on objoid = pg_class.oid and objsubid = 0
  where relkind = 'r' and not relispartition and description = '${MARK}'`;

/**
 * Drops the months of the log that are over for longer than it is kept, whole, rows unread. Does nothing while another
 * instance is at it. A month that cannot be dropped does not keep the others.
 * @throws AggregateError of what could not be dropped
 */
export const dropOldMonths = async (
  openSession: OpenSession,
  now: Date,
  retentionDays: number,
): Promise<string[]> => {
  const lock = await openSession();
  try {
    await lock.query('begin');
    await lock.query('set local idle_in_transaction_session_timeout = 0');
    const { rows } = await lock.query<{ held: boolean }>(TRY_LOCK);
    if (!rows[0]?.held) return [];
    return await dropWith(openSession, oldest(now, retentionDays));
  } finally {
    await lock.end();
  }
};

const dropWith = async (openSession: OpenSession, kept: Record<string, string>): Promise<string[]> => {
  const client = await openSession();
  return dropAll(client, kept).finally(() => client.end());
};

/** Table → the first day of the oldest month that stays. */
const oldest = (now: Date, retentionDays: number): Record<string, string> => {
  const first = (days: number) =>
    monthOf(new Date(now.getTime() - days * DAY_MS))
      .toISOString()
      .slice(0, 10);
  return {
    usage_entries: first(retentionDays),
    usage_days: first(Math.max(retentionDays, MIN_DAYS_BY_PERSON)),
  };
};

const dropAll = async (client: ClientBase, kept: Record<string, string>): Promise<string[]> => {
  const { rows } = await client.query<Partition>(ATTACHED);
  const old = rows.filter(({ parent, month }) => month !== null && month < (kept[parent] ?? ''));
  const failures: unknown[] = [];
  for (const partition of old)
    await detach(client, partition).catch((error: unknown) => failures.push(error));

  const dropped: string[] = [];
  for (const { name } of (await client.query<{ name: string }>(DETACHED)).rows) {
    await client.query({ text: `drop table ${name}` }).then(
      () => dropped.push(name),
      (error: unknown) => failures.push(error),
    );
  }
  if (failures.length > 0) throw new AggregateError(failures, 'Some months of usage could not be dropped.');
  return dropped;
};

/** `concurrently`, since anything else locks out all who read or write. */
const detach = async (client: ClientBase, { name, parent, isDetaching }: Partition): Promise<void> => {
  const how = isDetaching ? 'finalize' : 'concurrently';
  await client.query({ text: `comment on table ${name} is '${MARK}'` });
  await client.query({ text: `alter table ${parent} detach partition ${name} ${how}` });
};
