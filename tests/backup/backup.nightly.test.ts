import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { Readable, Writable } from 'node:stream';
import * as assert from 'uvu/assert';
import { checkBackup, restoreBackup } from '../../src/backup/restore-backup.ts';
import { createBackup } from '../../src/backup/write-backup.ts';
import { openUnlimitedSession } from '../../src/db/client.ts';
import { openDatabase } from '../../src/db/database.ts';
import { UnfinishedRestore } from '../../src/db/database-errors.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { createAudit, NO_ORIGIN, ofAddress } from '../../src/services/audit/audit.ts';
import { finishErasures } from '../../src/services/data-rights/erasure.ts';
import { publishEvents } from '../../src/services/events/event-rows.ts';
import { createSinkQueue } from '../../src/services/sinks/sink-queue.ts';
import { emptyDatabase, KEY, NOW, querying, restore, write } from '../support/backups.ts';
import { makeScratchFolder } from '../support/files.ts';
import { createFolderPackageStore } from '../support/package-stores.ts';
import { rejectsWith } from '../support/rejects.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { administer } from '../support/test-server.ts';

type Context = { demo: TestDatabase; folder: Awaited<ReturnType<typeof makeScratchFolder>>; file: string };
const backups = suite<Context>('backup and restore');

backups.before(async (context) => {
  context.demo = await createTestDatabase('demo');
  context.folder = await makeScratchFolder();
  context.file = context.folder.join('backup.tar');
  await write(context.demo.connection, context.file, context.folder.path);
});
backups.after(async ({ demo, folder }) => {
  await demo.drop();
  await folder[Symbol.asyncDispose]();
});

const clock = { now: () => NOW };

/** @returns the ids of the events */
const recordEvents = async ({ connection }: TestDatabase, targets: readonly string[]): Promise<number[]> => {
  const orm = await openDatabase(connection);
  const events = targets.map((target) => ({
    action: 'login.session' as const,
    actor: null,
    target: ofAddress(target),
  }));
  await orm.em.fork().transactional((tx) => createAudit(NO_ORIGIN, clock).record(tx, events));
  while (await publishEvents(orm.em.fork()));
  await orm.close(true);
  const newest = `select id::int from events order by id desc limit ${targets.length}`;
  return (await querying<{ id: number }>(connection, newest)).map(({ id }) => id).reverse();
};

const COUNTS = `select (select count(*)::int from users) as users, (select count(*)::int from usage_entries) as entries,
  (select sum(hashtextextended(u::text, 0)::numeric)::text from users u) as hash`;

backups('restores the same rows', async (context) => {
  const target = await emptyDatabase(context.demo);
  await restore(context.file, target.connection);

  assert.equal(await querying(target.connection, COUNTS), await querying(context.demo.connection, COUNTS));
  await target.drop();
});

backups('restores a table of several parts, with any text', async (context) => {
  const file = context.folder.join('large.tar');
  const target = await emptyDatabase(context.demo);
  await administer(
    context.demo.connection,
    `insert into audit_entries (occurred_at, action, target_label, details)
      select '2026-01-01', 'large', E'line\\n\\ttab \\\\ \\\\. "quoted" \\u00fc' || n,
        json_build_object('text', repeat(md5(n::text), 40)) from generate_series(1, 9000) n`,
  );
  await write(context.demo.connection, file, context.folder.path);
  await restore(file, target.connection);

  const sum = `select count(*)::int as count, sum(hashtextextended(a::text, 0)::numeric)::text as hash from audit_entries a`;
  assert.equal(await querying(target.connection, sum), await querying(context.demo.connection, sum));
  await target.drop();
});

backups(
  'refuses an interrupted restore: to start on it, to back it up, and to restore there',
  async (context) => {
    const target = await emptyDatabase(context.demo);
    const interrupt = () => {
      throw new Error('interrupted');
    };
    await restore(context.file, target.connection, interrupt).then(
      () => assert.unreachable(),
      () => {},
    );

    const failure = (work: Promise<unknown>) =>
      work.then(
        () => null,
        (error: unknown) => error,
      );
    assert.instance(await failure(migrateDatabase(target.connection)), UnfinishedRestore);
    const backup = write(target.connection, context.folder.join('half.tar'), context.folder.path);
    assert.instance(await failure(backup), UnfinishedRestore);
    assert.instance(await failure(restore(context.file, target.connection)), UnfinishedRestore);
    await target.drop();
  },
);

backups('refuses a second restore while one is running', async (context) => {
  const target = await emptyDatabase(context.demo);
  let second: Promise<unknown> | undefined;
  /** Gets no further before the second one has ended. */
  const source = async function* () {
    for await (const chunk of createReadStream(context.file, { highWaterMark: 1_024 })) {
      yield chunk;
      await second;
    }
  };

  await restoreBackup(Readable.from(source()), await checkBackup(createReadStream(context.file), null), {
    connection: target.connection,
    publishPackage: async () => {},
    onTable: () => {
      second ??= restore(context.file, target.connection).catch((error: unknown) => error);
    },
  });

  assert.instance(await second, UnfinishedRestore);
  assert.equal(await querying(target.connection, COUNTS), await querying(context.demo.connection, COUNTS));
  await target.drop();
});

backups('restores everything but the tables that operators added, and names those', async (context) => {
  const file = context.folder.join('foreign.tar');
  const target = await emptyDatabase(context.demo);
  await administer(context.demo.connection, 'create table notes (text text)');
  await write(context.demo.connection, file, context.folder.path);
  await administer(context.demo.connection, 'drop table notes');

  assert.equal(await restore(file, target.connection), ['notes']);

  assert.equal(await querying(target.connection, COUNTS), await querying(context.demo.connection, COUNTS));
  await target.drop();
});

backups('continues an erasure that was unfinished when the backup was made', async (context) => {
  const file = context.folder.join('erasure.tar');
  const target = await emptyDatabase(context.demo);
  await administer(
    context.demo.connection,
    `update clients set support_email = 'ghost@acme.test'`,
    // The ids of transactions of the source are far ahead.
    `insert into erasures (pseudonym, digests, started_at, addresses, until_transaction)
      values ('erased-0@erased.invalid', '{}', '2026-01-01', '{ghost@acme.test}', '999999999999')`,
  );
  await write(context.demo.connection, file, context.folder.path);
  await administer(context.demo.connection, 'delete from erasures');

  await restore(file, target.connection);
  const orm = await openDatabase(target.connection);
  await finishErasures(orm.em.fork(), { now: () => NOW });
  await orm.close(true);

  const left = `select (select count(*)::int from clients where support_email <> '') as contacts, addresses from erasures`;
  assert.equal(await querying(target.connection, left), [{ contacts: 0, addresses: null }]);
  await target.drop();
});

backups('lets a sink continue after the last event that it had received', async ({ demo, folder }) => {
  const file = folder.join('sinks.tar');
  const target = await emptyDatabase(demo);
  const [position = 0, ...waiting] = await recordEvents(demo, ['first', 'second', 'third']);
  await administer(
    demo.connection,
    `insert into event_sinks (name, position, next_attempt_at, served_at)
      values ('file', ${position}, '${NOW.toISOString()}', '${NOW.toISOString()}')`,
  );
  await write(demo.connection, file, folder.path);
  await recordEvents(demo, ['after the backup']);
  await restore(file, target.connection);
  const [later] = await recordEvents(target, ['after the restore']);

  const orm = await openDatabase(target.connection);
  const { claimed } = await createSinkQueue({ em: orm.em, clock, startsAt: 'oldest' }).claim(['file']);
  await orm.close(true);

  assert.equal(
    claimed.flatMap(({ events }) => events.map(({ id, subject }) => [id, subject])),
    [
      [waiting[0], 'second'],
      [waiting[1], 'third'],
      [later, 'after the restore'],
    ],
  );
  await target.drop();
});

backups('refuses an empty database', async (context) => {
  const empty = await emptyDatabase(context.demo);

  const backup = write(empty.connection, context.folder.join('empty.tar'), context.folder.path);

  assert.match(String(await rejectsWith(backup, 'invalid-input')), /nothing to back up/);
  await empty.drop();
});

backups('fails with the error of its target, without waiting for the rest', async ({ demo, folder }) => {
  const client = await openUnlimitedSession(demo.connection);
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const target = new Writable({ write: (_chunk, _encoding, done) => done(full) });
  const packages = createFolderPackageStore({ dir: folder.path });
  const options = {
    client,
    packages,
    version: '1.2.3',
    now: NOW,
    secretKey: '',
    sealedKey: null,
    onTable: () => {},
  };

  const error = await createBackup(target, options).catch((cause: unknown) => cause);
  await client.end();

  assert.is(error, full);
});

backups('holds one snapshot, without rows that are written during the backup', async (context) => {
  const file = context.folder.join('busy.tar');
  let writes: Promise<unknown> = Promise.resolve();
  const before = await querying<{ users: number }>(context.demo.connection, COUNTS);
  const insert = `insert into sites (domain, name) values ('site-' || gen_random_uuid() || '.test', 'Site')`;

  await write(context.demo.connection, file, context.folder.path, () => {
    writes = writes.then(() => administer(context.demo.connection, insert));
  });
  await writes;
  const target = await emptyDatabase(context.demo);
  await restore(file, target.connection);

  const sites = `select count(*)::int as count from sites`;
  const [restored] = await querying<{ count: number }>(target.connection, sites);
  const [current] = await querying<{ count: number }>(context.demo.connection, sites);
  assert.ok((restored?.count ?? 0) < (current?.count ?? 0));
  assert.is((await querying<{ users: number }>(target.connection, COUNTS))[0]?.users, before[0]?.users);
  await target.drop();
});

backups('opens the key with its passphrase only, and holds no plain text of it', async ({ file }) => {
  const checked = await checkBackup(createReadStream(file), 'a passphrase');

  assert.is(checked.secretKey, KEY);
  assert.not.ok((await readFile(file)).includes(KEY));
  await rejectsWith(checkBackup(createReadStream(file), 'another'), 'invalid-input');
});

backups('refuses a backup with any byte of a file changed, or cut at any place', async ({ file, folder }) => {
  const bytes = await readFile(file);
  const changed = folder.join('changed.tar');
  for (let place = 600; place < bytes.length - 1024; place += Math.ceil(bytes.length / 61)) {
    const copy = Buffer.from(bytes);
    copy.writeUInt8(copy.readUInt8(place) ^ 1, place);
    // Padding between files carries nothing.
    if (bytes.readUInt8(place) === 0) continue;
    await writeFile(changed, copy);
    await rejectsWith(checkBackup(createReadStream(changed), null), 'invalid-input');
    await writeFile(changed, bytes.subarray(0, place));
    await rejectsWith(checkBackup(createReadStream(changed), null), 'invalid-input');
  }
});

backups('refuses a database that is not empty, and changes nothing in it', async (context) => {
  const target = await emptyDatabase(context.demo);
  await administer(target.connection, 'create table notes (text text)');

  await rejectsWith(restore(context.file, target.connection), 'invalid-input');

  const tables = await querying(
    target.connection,
    `select relname from pg_class where relnamespace = 'public'::regnamespace`,
  );
  assert.equal(tables, [{ relname: 'notes' }]);
  await target.drop();
});

backups('refuses a backup of a newer version, naming its version', async ({ demo, folder }) => {
  const file = folder.join('newer.tar');
  await administer(demo.connection, `insert into mikro_orm_migrations (name) values ('9999-of-the-future')`);
  await write(demo.connection, file, folder.path);
  await administer(demo.connection, `delete from mikro_orm_migrations where name = '9999-of-the-future'`);

  const problem = await rejectsWith(checkBackup(createReadStream(file), null), 'invalid-input');

  assert.match(problem.message, /of Steward 1\.2\.3, which is newer.*9999-of-the-future/);
});

const ADD_ROWS = {
  api_tokens: `insert into api_tokens (user_id, digest, created_at, last_used)
    values (1, md5('a') || md5('b'), '2026-01-01', '2026-01-01') returning id::int`,
  audit_entries: `insert into audit_entries (occurred_at, action, target_label)
    values ('2026-01-01', 'site.create', 'a') returning id::int`,
};

backups('gives no id of a deleted row again after a restore', async ({ demo, folder }) => {
  const file = folder.join('sequences.tar');
  const add = async ({ connection }: TestDatabase): Promise<number[]> => {
    const added = Object.values(ADD_ROWS).map((row) => querying<{ id: number }>(connection, row));
    return (await Promise.all(added)).map(([row]) => row?.id ?? 0);
  };
  const deleted = await add(demo);
  await administer(
    demo.connection,
    `set steward.audit_cutoff = 'infinity'`,
    `delete from api_tokens where id = ${deleted[0]}`,
    `delete from audit_entries where id = ${deleted[1]}`,
  );
  await write(demo.connection, file, folder.path);
  const first = await emptyDatabase(demo);
  await restore(file, first.connection);
  // Sequences that were set, and not used since.
  await write(first.connection, file, folder.path);
  const second = await emptyDatabase(demo);
  await restore(file, second.connection);

  for (const restored of [first, second]) {
    assert.equal(
      await add(restored),
      deleted.map((id) => id + 1),
    );
    await restored.drop();
  }
});

backups.run();
