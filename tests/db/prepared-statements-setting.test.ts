import { CompiledQuery, sql } from 'kysely';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../src/config/config.ts';
import { createRead } from '../../src/db/batched-reads.ts';
import { openDatabase } from '../../src/db/database.ts';
import { openDatabaseHost } from '../../src/server/database-host.ts';
import { createTestDatabase } from '../support/test-database.ts';

const TWICE = 'select $1::int * 2 as twice';
const SECRET_KEY = 'a secret key that only tests ever use';

/** The prepared statements of a connection after repeated queries of each kind. */
const preparedUnder = async (setting: string): Promise<string[]> => {
  const { connection: database, drop } = await createTestDatabase();
  const config = { ...readConfig({ PREPARED_STATEMENTS: setting }), database, secretKey: SECRET_KEY };
  const { connection } = await openDatabaseHost(config);
  // With a single connection, so that all queries use it.
  const orm = await openDatabase({ ...connection, poolSize: 1 });
  const db = orm.em.fork().getKysely<Record<string, never>>();
  const pool = orm.pool;
  const read = createRead(pool);
  for (const value of [1, 2, 3]) {
    await sql`select ${value}::int * 2 as twice`.execute(db);
    await read({ compile: () => CompiledQuery.raw(TWICE, [value]) });
  }
  const { rows } = await pool.query('select statement from pg_prepared_statements order by prepare_time');
  await orm.close(true);
  await drop();
  return rows.map(({ statement }) => statement);
};

const setting = suite('PREPARED_STATEMENTS');

setting('is respected by every pool: with 0 no statement is prepared by name', async () => {
  assert.equal(await preparedUnder('0'), []);
});

setting('is on by default', async () => {
  for (const setting of ['1', '']) {
    const prepared = await preparedUnder(setting);
    assert.is(prepared.filter((statement) => statement === TWICE).length, 1);
  }
});

setting.run();
