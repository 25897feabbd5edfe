import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { KEPT, REPLACED, SEARCHED } from '../../../src/services/data-rights/personal-columns.ts';
import { appSuite } from '../../support/test-app.ts';

const columns = appSuite('personal columns');

type Column = { table: string; column: string };

columns(
  'classify every text of every table: a new one must be searched, replaced or kept',
  async ({ app }) => {
    await sql`create table newsletter_readers (contact_email varchar(254), seen_at timestamptz)`.execute(
      app.db(),
    );
    const { rows } = await sql<Column>`
    select relname as "table", attname as "column" from pg_attribute
    join pg_class on pg_class.oid = attrelid join pg_type on pg_type.oid = atttypid
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      and attnum > 0 and not attisdropped
      and (typcategory in ('S', 'U') or typelem in (select oid from pg_type where typcategory in ('S', 'U')))
    order by 1, 2`.execute(app.db());
    const isIn = (lists: object, { table, column }: Column): boolean => {
      const names: unknown = Object.entries(lists).find(([name]) => name === table)?.[1];
      return Array.isArray(names) ? names.includes(column) : Object.keys(Object(names)).includes(column);
    };

    const missing = rows.filter((column) => ![SEARCHED, REPLACED, KEPT].some((lists) => isIn(lists, column)));
    const listed = [SEARCHED, REPLACED, KEPT].flatMap((lists) =>
      Object.entries(lists).flatMap(([table, names]) =>
        (Array.isArray(names) ? names : Object.keys(names)).map((column: string) => `${table}.${column}`),
      ),
    );
    const known = new Set(rows.map(({ table, column }) => `${table}.${column}`));

    assert.equal(missing, [{ table: 'newsletter_readers', column: 'contact_email' }]);
    assert.equal(
      listed.filter((name) => !known.has(name)),
      [],
    );
  },
);

columns.run();
