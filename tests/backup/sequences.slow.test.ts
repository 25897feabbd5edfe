import * as assert from 'uvu/assert';
import { emptyDatabase, querying, restore, write } from '../support/backups.ts';
import { makeScratchFolder } from '../support/files.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { administer } from '../support/test-server.ts';

type Context = { demo: TestDatabase; folder: Awaited<ReturnType<typeof makeScratchFolder>> };
const sequences = suite<Context>('sequences of a restored database');

sequences.before(async (context) => {
  context.demo = await createTestDatabase('demo');
  context.folder = await makeScratchFolder();
});
sequences.after(async ({ demo, folder }) => {
  await demo.drop();
  await folder[Symbol.asyncDispose]();
});

const addRow = (table: 'api_tokens' | 'audit_entries'): string =>
  table === 'api_tokens'
    ? `insert into api_tokens (user_id, digest, created_at, last_used)
        values (1, md5(random()::text) || md5(random()::text), now(), now()) returning id::int`
    : `insert into audit_entries (occurred_at, action, target) values (now(), 'site.create', 'a') returning id::int`;

for (const table of ['api_tokens', 'audit_entries'] as const)
  sequences(`does not give the id of a deleted row of ${table} again`, async ({ demo, folder }) => {
    const source = demo.connection;
    const file = folder.join('backup.tar');
    const [deleted] = await querying<{ id: number }>(source, addRow(table));
    await administer(
      source,
      `set steward.audit_cutoff = 'infinity'`,
      `delete from ${table} where id = ${deleted?.id}`,
    );
    await write(source, file, folder.path);
    const first = await emptyDatabase(demo);
    await restore(file, first.connection);
    // A sequence that was set, and not used since.
    await write(first.connection, file, folder.path);
    const second = await emptyDatabase(demo);
    await restore(file, second.connection);

    for (const { connection } of [first, second]) {
      const [added] = await querying<{ id: number }>(connection, addRow(table));
      assert.is(added?.id, (deleted?.id ?? 0) + 1);
    }
    await first.drop();
    await second.drop();
  });

sequences.run();
