import type { Pool, PoolClient } from 'pg';
import { DAY_MS } from '../../core/clock.ts';
import { monthOf, PARTITIONED, partitionOf } from './usage-partitions.ts';

/** Held on the connection while partitions are cared for: one instance is enough. */
const TRY_LOCK = `select pg_try_advisory_lock(hashtextextended('usage retention', 0)) as held`;
/** Detaching waits for whoever is reading; those who write wait for nobody. */
const NO_TIMEOUT = 'set statement_timeout = 0';

/** A table of ours that a month's rows are in, or were in before an earlier round was interrupted. */
type Partition = { name: string; parent: string; isAttached: boolean; isDetaching: boolean };

const PARTITIONS = `
  select relname as name, regexp_replace(relname, '_\\d{4}_\\d{2}$', '') as parent,
    inhparent is not null as "isAttached", coalesce(inhdetachpending, false) as "isDetaching"
  from pg_class left join pg_inherits on inhrelid = pg_class.oid
  where relkind = 'r' and relnamespace = current_schema()::regnamespace
    and relname ~ '^(${PARTITIONED.join('|')})_\\d{4}_\\d{2}$'`;

/**
 * Drops the months of the log that are over for longer than it is kept, whole, rows unread. Does nothing while another
 * instance is at it.
 */
export const dropOldMonths = async (pool: Pool, now: Date, retentionDays: number): Promise<string[]> => {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ held: boolean }>(TRY_LOCK);
    if (!rows[0]?.held) return [];
    return await dropBefore(client, new Date(now.getTime() - retentionDays * DAY_MS));
  } finally {
    // Ends the lock and the settings with the connection.
    client.release(true);
  }
};

const dropBefore = async (client: PoolClient, oldest: Date): Promise<string[]> => {
  const { rows } = await client.query<Partition>(PARTITIONS);
  const old = rows.filter(({ name, parent }) => name < partitionOf(parent, monthOf(oldest)));
  if (old.length > 0) await client.query(NO_TIMEOUT);
  for (const partition of old) await drop(client, partition);
  return old.map(({ name }) => name);
};

/**
 * In steps, each of which an interrupted round can be taken up from. `concurrently`, since dropping an attached
 * partition would lock the whole log against readers and writers.
 */
const drop = async (
  client: PoolClient,
  { name, parent, isAttached, isDetaching }: Partition,
): Promise<void> => {
  if (isAttached) {
    const how = isDetaching ? 'finalize' : 'concurrently';
    await client.query(`alter table ${parent} detach partition ${name} ${how}`);
  }
  await client.query(`drop table ${name}`);
};
