import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../../src/db/database.ts';
import { kysely } from '../../../src/db/kysely.ts';
import { createAudit, NO_ORIGIN } from '../../../src/services/audit/audit.ts';
import { bootstrap } from '../../../src/services/users/bootstrap.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { NOON } from '../../support/time.ts';

const bootstrapping = suite('bootstrap');

bootstrapping('records the site, client and superuser, and does nothing the next time', async () => {
  const database = await createTestDatabase();
  const orm = await openDatabase(database.connection);
  const start = () =>
    bootstrap(
      orm.em.fork(),
      { domain: 'steward.test', adminEmail: 'root@steward.test', now: NOON },
      createAudit(NO_ORIGIN, { now: () => NOON }),
      async () => 'no hash',
    );

  const created = [await start(), await start()];
  const entries = await kysely(orm.em.fork())
    .selectFrom('audit_entries')
    .select(['action', 'target_label as target'])
    .orderBy('id')
    .execute();
  await orm.close(true);
  await database.drop();

  assert.equal(created, [true, false]);
  assert.equal(entries, [
    { action: 'site.create', target: 'steward.test' },
    { action: 'client.create', target: 'My organization' },
    { action: 'user.make-superuser', target: 'root@steward.test' },
  ]);
});

bootstrapping.run();
