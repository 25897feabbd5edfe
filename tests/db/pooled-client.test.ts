import { sql } from 'kysely';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/db/database.ts';
import { createStatementNames } from '../../src/db/pooled-client.ts';
import { createTestDatabase } from '../support/test-database.ts';

const statements = suite('prepared statements');

const openTestDatabase = async () => {
  const { connection, drop } = await createTestDatabase();
  const orm = await openDatabase(connection);
  const db = orm.em.fork().getKysely<Record<string, never>>();
  const close = async () => {
    await orm.close(true);
    await drop();
  };
  const prepared = async (): Promise<string[]> => {
    const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(
      db,
    );
    return rows.map(({ statement }) => statement);
  };
  return { db, prepared, close };
};

statements('are named when they are repeated with values, and keep their names', () => {
  const nameOf = createStatementNames();
  const first = nameOf('select $1', [1]);
  const second = nameOf('select $1', [2]);
  const other = ['select $1, 2', 'select $1, 2'].map((text) => nameOf(text, [1])).at(-1);

  assert.is(first, undefined);
  assert.is(second, nameOf('select $1', [3]));
  assert.ok(second && other && second !== other);
  assert.equal(
    [nameOf('begin', []), nameOf('begin', []), nameOf('begin', [])],
    [undefined, undefined, undefined],
  );
});

statements('are prepared by a connection that runs them again, with correct results', async () => {
  const { db, prepared, close } = await openTestDatabase();
  const answers: number[] = [];
  for (const value of [1, 2, 3]) {
    const { rows } = await sql<{ twice: number }>`select ${value}::int * 2 as twice`.execute(db);
    answers.push(rows[0]?.twice ?? Number.NaN);
  }
  const known = await prepared();
  await close();

  assert.equal(answers, [2, 4, 6]);
  assert.equal(known, ['select $1::int * 2 as twice']);
});

statements('work after one has failed, and after their table has changed', async () => {
  const { db, close } = await openTestDatabase();
  await sql`create table plates (id int primary key, note text)`.execute(db);
  const insert = (id: number) => sql`insert into plates (id) values (${id})`.execute(db).then(() => 'done');
  const notes = async () =>
    (await sql<{ note: string | null }>`select note from plates where id < ${100}`.execute(db)).rows.length;
  const outcomes = [
    await insert(1),
    await insert(2),
    await insert(2).catch(() => 'refused'),
    await insert(3),
  ];
  const counts = [await notes(), await notes()];
  await sql`alter table plates add column more int`.execute(db);
  await sql`create index plates_by_note on plates (note)`.execute(db);
  counts.push(await notes());
  outcomes.push(await insert(4));
  await close();

  assert.equal(outcomes, ['done', 'done', 'refused', 'done', 'done']);
  assert.equal(counts, [3, 3, 3]);
});

statements.run();
