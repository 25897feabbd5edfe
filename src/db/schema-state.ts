import type { ClientBase } from 'pg';

export const MIGRATIONS_TABLE = 'mikro_orm_migrations';

/** Exists from the first write of a restore until its rows are committed. */
export const RESTORE_TABLE = 'restore_in_progress';

/** The database holds part of a backup. The message is one line for the operator. */
export class UnfinishedRestore extends Error {
  constructor() {
    super(
      'A restore into this database is running or was interrupted. If it was interrupted, run `steward restore` again with the same backup, or use another empty database or DATA_DIR.',
    );
    this.name = 'UnfinishedRestore';
  }
}

export const readSchemaState = async (
  client: ClientBase,
): Promise<{ isMigrated: boolean; isRestoring: boolean }> => {
  const { rows } = await client.query<{ isMigrated: boolean; isRestoring: boolean }>(
    `select to_regclass($1) is not null as "isMigrated", to_regclass($2) is not null as "isRestoring"`,
    [MIGRATIONS_TABLE, RESTORE_TABLE],
  );
  const [state] = rows;
  if (!state) throw new Error('A query without a table returns one row.');
  return state;
};

/** The applied migrations, in their order. */
export const readMigrations = async (client: ClientBase): Promise<string[]> => {
  const { rows } = await client.query<{ name: string }>(`select name from ${MIGRATIONS_TABLE} order by id`);
  return rows.map(({ name }) => name);
};
