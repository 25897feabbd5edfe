import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { prepared } from '../../src/db/kysely.ts';
import { appSuite } from '../support/app-suite.ts';
import { ADA, GRACE } from '../support/test-app.ts';

const statements = appSuite('compiled queries');

const namesOf = () => {
  let built = 0;
  const read = prepared((db, { emails, suffix }: { emails: readonly string[]; suffix: string }) => {
    built += 1;
    return db
      .selectFrom('users')
      .select(['email', sql<string>`first_name || ${suffix}::text`.as('name')])
      .where(sql<boolean>`email = any(${emails}::varchar[])`)
      .where('is_active', '=', true)
      .orderBy('email');
  });
  return { read, built: () => built };
};

statements('run with different values, also concurrently', async ({ app }) => {
  const { read, built } = namesOf();
  const em = app.orm.em.fork();
  const runs = Array.from({ length: 20 }, (_, run) =>
    read(em, { emails: run % 2 ? [ADA] : [GRACE, ADA, 'unknown@acme.test'], suffix: ` ${run}` }),
  );
  const names = (await Promise.all(runs)).map((rows) => rows.map(({ name }) => name));

  assert.is(built(), 1);
  assert.equal(
    names,
    runs.map((_, run) => (run % 2 ? [`Ada ${run}`] : [`Ada ${run}`, `Grace ${run}`])),
  );
});

statements('see uncommitted changes of their transaction only', async ({ app }) => {
  const { read } = namesOf();
  const values = { emails: [ADA], suffix: '' };
  const before = await read(app.orm.em.fork(), values);
  const inside = await app.orm.em.fork().transactional(async (tx) => {
    await tx.execute(`update users set first_name = 'Augusta' where email = '${ADA}'`);
    const both = [await read(tx, values), await read(app.orm.em.fork(), values)];
    await tx.execute(`update users set first_name = 'Ada' where email = '${ADA}'`);
    return both.map((rows) => rows[0]?.name);
  });

  assert.is(before[0]?.name, 'Ada');
  assert.equal(inside, ['Augusta', 'Ada']);
});

statements.run();
