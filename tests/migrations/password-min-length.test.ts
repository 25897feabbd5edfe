import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { migrateDatabase } from '../../src/db/database.ts';
import { createTestDatabase } from '../support/test-database.ts';

const migration = suite('migration of the minimum password length');

migration('raises values below 8 and keeps the others', async () => {
  const { connection, drop } = await createTestDatabase('demo');
  const client = new Client(connection);
  await client.connect();
  try {
    await client.query(`
      delete from mikro_orm_migrations where name = '0014-password-min-length';
      alter table clients drop constraint clients_password_min_length_check,
        add constraint clients_password_min_length_check check (password_min_length >= 1 and password_min_length <= 128);
      update clients set password_min_length = case id when 1 then 1 else 20 end`);
    await migrateDatabase(connection);
    const { rows } = await client.query('select password_min_length from clients order by id');

    assert.equal(
      rows.map((row) => row.password_min_length),
      [8, 20],
    );
  } finally {
    await client.end();
    await drop();
  }
});

migration.run();
