import { Client } from 'pg';
import { createProgress, type Progress } from '../../src/cli/progress.ts';
import type { Connection } from '../../src/config/connection.ts';
import { openDatabase } from '../../src/db/database.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { ensureMonths, partitionOf } from '../../src/services/usage/usage-months.ts';
import { rebuildUsage } from '../../src/services/usage/usage-writes.ts';
import { makeContent } from './content.ts';
import { copyInto, withoutIndexes } from './copying.ts';
import { ENTRY_COLUMNS } from './entries.ts';
import { checkPlan, type LogDay, type Plan } from './plan.ts';

type Content = Awaited<ReturnType<typeof makeContent>>;

/** Only an empty database may be filled. */
export class DatabaseNotEmpty extends Error {}

/**
 * Migrates a database and fills it. All rows are copied in one transaction; rollups are computed afterwards.
 * @throws InvalidPlan, DatabaseNotEmpty
 */
export const fillDatabase = async (connection: Connection, plan: Plan): Promise<void> => {
  checkPlan(plan);
  await migrateDatabase(connection);
  await withClient(connection, async (client) => {
    // Checked again under the lock.
    await requireEmpty(client);
    const content = await makeContent(plan);
    await makePartitions(connection, content);
    await inTransaction(client, () => copyContent(client, content, plan));
    await computeRollups(connection, content.appIds, plan);
    // Sets hint bits and the visibility map, as in a database in use.
    await client.query('vacuum analyze');
  });
};

const withClient = async (connection: Connection, work: (client: Client) => Promise<void>): Promise<void> => {
  const client = new Client({ ...connection, application_name: 'steward bench', options: '-c TimeZone=UTC' });
  // A lost connection fails the current statement. Without a listener it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`set maintenance_work_mem = '256MB'`);
    await work(client);
  } finally {
    await client.end();
  }
};

const inTransaction = async (client: Client, work: () => Promise<void>): Promise<void> => {
  await client.query('begin');
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
};

const requireEmpty = async (client: Client): Promise<void> => {
  const { rows } = await client.query<{ is_filled: boolean }>(`
    select exists (select from users) or exists (select from sites) or exists (select from usage_entries) as is_filled`);
  if (rows[0]?.is_filled)
    throw new DatabaseNotEmpty('The database is not empty; nothing was changed. Use an empty database.');
};

const makePartitions = async (connection: Connection, { months }: Content): Promise<void> => {
  const orm = await openDatabase(connection);
  try {
    const starts = months.flat().map(({ start }) => start);
    await orm.em.fork().transactional((tx) => ensureMonths(tx, starts));
  } finally {
    await orm.close(true);
  }
};

const copyContent = async (client: Client, content: Content, plan: Plan): Promise<void> => {
  await client.query('lock table users, sites, usage_entries in exclusive mode');
  await requireEmpty(client);
  for (const { table, columns, lines } of content.tables) {
    await copyInto(client, `${table} (${columns})`, lines);
  }
  const progress = createProgress('Log entries', plan.entries);
  try {
    await withoutIndexes(client, 'usage_entries', async () => {
      for (const days of content.months) await copyMonth(client, days, content, progress);
    });
  } finally {
    progress.stop();
  }
  await client.query(SEQUENCES);
};

const copyMonth = async (client: Client, days: LogDay[], content: Content, progress: Progress) => {
  const [first] = days;
  if (!first) return;
  const partition = partitionOf('usage_entries', first.start);
  // FREEZE requires that this transaction truncated the table.
  await client.query(`truncate ${partition}`);
  const lines = function* () {
    for (const day of days) {
      yield* content.linesOf(day);
      progress.advance(day.entries);
    }
  };
  await copyInto(client, `${partition} (${ENTRY_COLUMNS})`, lines(), 'with (freeze)');
};

/** Sets every sequence to the highest value of its column. */
const SEQUENCES = `
  do $$
  declare owned record;
  begin
    for owned in
      select format('%I', columns.table_name) as "table", columns.column_name as "column",
        pg_get_serial_sequence(format('%I', columns.table_name), columns.column_name) as sequence
      from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_schema = current_schema() and table_type = 'BASE TABLE'
        and pg_get_serial_sequence(format('%I', columns.table_name), columns.column_name) is not null
    loop
      execute format('select setval(%L, max(%I)) from %s having max(%I) is not null',
        owned.sequence, owned."column", owned."table", owned."column");
    end loop;
  end $$`;

/** Computes the rollups of these apps from the log, as of its end. */
export const computeRollups = async (
  connection: Connection,
  appIds: string[],
  { until }: Plan,
): Promise<void> => {
  const orm = await openDatabase(connection);
  const progress = createProgress('Rollups of apps', appIds.length);
  try {
    for (const appId of appIds) {
      await rebuildUsage(orm.em.fork(), appId, until);
      progress.advance();
    }
  } finally {
    progress.stop();
    await orm.close(true);
  }
};
