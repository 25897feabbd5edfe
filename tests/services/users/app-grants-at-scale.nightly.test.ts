import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { kysely } from '../../../src/db/kysely.ts';
import { changeAccess } from '../../../src/services/users/app-grants.ts';
import { appSuite } from '../../support/test-app.ts';
import { FLEET } from '../../support/usage.ts';
import { addUsers } from '../../support/users.ts';

const MEMBERS = 100_000;
const GRANTS = 300;

const grants = appSuite(`grants beside ${MEMBERS} memberships`);

grants('read the memberships of their people alone', async ({ app }) => {
  await addUsers(app, MEMBERS);
  await sql`analyze`.execute(app.db());
  const people = app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', 'like', 'm1%@many.test')
    .limit(GRANTS);
  const now = app.clock.now();
  const changes = (await people.execute()).map(({ id }) => ({
    userId: id,
    granted: [{ id: FLEET, client_id: 2 }],
    revoked: [],
    joined: [2],
  }));

  const read = await app.orm.em.fork().transactional(async (tx) => {
    await changeAccess(tx, { by: 1, now }, changes);
    const { rows } = await sql<{ rows: number }>`
      select sum(seq_tup_read)::int as "rows" from pg_stat_xact_user_tables
      where relname in ('memberships', 'users', 'app_grants')`.execute(kysely(tx));
    return Number(rows[0]?.rows);
  });

  assert.is(changes.length, GRANTS);
  assert.ok(read < 10 * GRANTS, `${read} rows were read without an index`);
});

grants.run();
