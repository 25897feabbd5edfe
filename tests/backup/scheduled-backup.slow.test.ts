import { createReadStream } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createFolderBackupStore } from '../../src/adapters/backup-store/backup-store.ts';
import { checkBackup } from '../../src/backup/restore-backup.ts';
import { runScheduledBackup } from '../../src/backup/scheduled-backup.ts';
import { type Orm, openDatabase } from '../../src/db/database.ts';
import { kysely } from '../../src/db/kysely.ts';
import { HOUR_MS } from '../../src/lib/clock.ts';
import { readOperationalState } from '../../src/services/operational-state.ts';
import { makeScratchFolder } from '../support/files.ts';
import { createFolderPackageStore } from '../support/package-stores.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { createTestClock } from '../support/time.ts';

const RUNNING = new AbortController().signal;
const DAY_MS = 24 * HOUR_MS;

type Context = {
  database: TestDatabase;
  orm: Orm;
  folder: Awaited<ReturnType<typeof makeScratchFolder>>;
  clock: ReturnType<typeof createTestClock>;
};
const backups = suite<Context>('scheduled backups');

backups.before.each(async (context) => {
  context.database = await createTestDatabase('demo');
  context.orm = await openDatabase(context.database.connection);
  context.folder = await makeScratchFolder();
  context.clock = createTestClock();
});
backups.after.each(async ({ database, orm, folder }) => {
  await orm.close();
  await database.drop();
  await folder[Symbol.asyncDispose]();
});

type Changes = { keep?: number; store?: ReturnType<typeof createFolderBackupStore> };

/** The dependencies of one instance, and the lines that it logs. */
const instance = ({ database, orm, folder, clock }: Context, { keep = 14, store }: Changes = {}) => {
  const lines: string[] = [];
  const log = (_fields: unknown, line: string) => lines.push(line);
  return {
    lines,
    fork: () => orm.em.fork(),
    connection: database.connection,
    clock,
    logger: { info: log, warn: log, error: log } as never, // of pino's overloads, one is used
    store: store ?? createFolderBackupStore(folder.join('backups')),
    packages: createFolderPackageStore({ dir: folder.join('packages') }),
    version: '1.2.3',
    secretKey: 'k'.repeat(32),
    passphrase: null,
    schedule: { intervalHours: 24, startMinute: 180, keep, keepDays: 0 },
  };
};

const archivesOf = async ({ folder }: Context): Promise<string[]> =>
  (await readdir(folder.join('backups')).catch(() => [])).sort();

const rowsOf = ({ orm }: Context) =>
  kysely(orm.em.fork()).selectFrom('backups').selectAll().orderBy('id').execute();

const failingStore = (context: Context, error: Error) => {
  const store = createFolderBackupStore(context.folder.join('backups'));
  return { ...store, write: () => Promise.reject(error) };
};

backups(
  'makes one backup in an interval, also with several instances and after restarts',
  async (context) => {
    const instances = [instance(context), instance(context), instance(context)];

    await Promise.all(instances.map((each) => runScheduledBackup(each, RUNNING)));
    await runScheduledBackup(instance(context), RUNNING);
    const [name = '', ...others] = await archivesOf(context);
    context.clock.advance(DAY_MS);
    await runScheduledBackup(instance(context), RUNNING);

    assert.equal(others, []);
    assert.equal((await archivesOf(context)).length, 2);
    const { header, manifest } = await checkBackup(
      createReadStream(context.folder.join('backups', name)),
      null,
    );
    assert.ok((manifest.tables.users?.rows ?? 0) > 0);
    // A copy of the installation must not remove its archives.
    assert.not.ok(header.tables.some((table) => table.name === 'backups'));
  },
);

backups('records a failure, and tries again after a pause', async (context) => {
  const broken = instance(context, { store: failingStore(context, new Error('the disk is full')) });

  await runScheduledBackup(broken, RUNNING);
  await runScheduledBackup(broken, RUNNING);
  const failed = await rowsOf(context);
  const state = await readOperationalState(context.orm.em.fork(), context.clock.now());
  context.clock.advance(5 * 60_000);
  await runScheduledBackup(instance(context), RUNNING);
  const later = await readOperationalState(context.orm.em.fork(), context.clock.now());

  assert.equal(
    failed.map(({ error }) => error),
    ['the disk is full'],
  );
  assert.is(state.backupFailures, 1);
  assert.is(state.backupAgeSeconds, null);
  assert.equal(broken.lines, ['backup failed']);
  assert.is(later.backupFailures, 0);
  assert.is(later.backupAgeSeconds, 0);
  assert.ok((later.backupSizeBytes ?? 0) > 1000);
});

backups('removes the draft of a killed backup, and makes it again after a pause', async (context) => {
  const backup = instance(context);
  const started_at = context.clock.now();
  const killed = { target: context.folder.join('backups'), name: 'steward-killed.tar', started_at };
  await kysely(context.orm.em.fork()).insertInto('backups').values(killed).execute();
  await mkdir(context.folder.join('backups'));
  await writeFile(context.folder.join('backups', 'steward-other.tar'), '');
  await writeFile(context.folder.join('backups', 'steward-killed.tar.partial'), 'half');

  await runScheduledBackup(backup, RUNNING);
  const afterwards = await archivesOf(context);
  context.clock.advance(5 * 60_000);
  await runScheduledBackup(backup, RUNNING);

  assert.equal(afterwards, ['steward-other.tar']);
  assert.equal(backup.lines, ['a backup was interrupted', 'backup written']);
  assert.equal((await archivesOf(context)).length, 2);
});

backups('counts a killed backup whose archive was complete', async (context) => {
  const backup = instance(context);
  const started_at = context.clock.now();
  const killed = { target: context.folder.join('backups'), name: 'steward-done.tar', started_at };
  await kysely(context.orm.em.fork()).insertInto('backups').values(killed).execute();
  await mkdir(context.folder.join('backups'));
  await writeFile(context.folder.join('backups', 'steward-done.tar'), 'complete');

  await runScheduledBackup(backup, RUNNING);

  assert.equal(await archivesOf(context), ['steward-done.tar']);
  assert.equal(
    (await rowsOf(context)).map(({ size_bytes, failed_at }) => [Number(size_bytes), failed_at]),
    [[8, null]],
  );
});

backups('removes expired archives that it has made, and no other file', async (context) => {
  const backup = instance(context, { keep: 2 });
  const foreign = 'steward-20200101T030000Z-aaaaaa.tar';
  for (let day = 0; day < 4; day += 1) {
    await runScheduledBackup(backup, RUNNING);
    if (day === 0) await writeFile(context.folder.join('backups', foreign), 'of another installation');
    context.clock.advance(DAY_MS);
  }

  const rows = await rowsOf(context);
  const kept = rows.filter(({ removed_at }) => removed_at === null).map(({ name }) => name);
  assert.equal(await archivesOf(context), [foreign, ...kept].sort());
  assert.equal(
    kept,
    rows.slice(-2).map(({ name }) => name),
  );
});

backups('removes nothing while backups fail, or when the newest archive is missing', async (context) => {
  for (let day = 0; day < 3; day += 1) {
    await runScheduledBackup(instance(context), RUNNING);
    context.clock.advance(DAY_MS);
  }
  const before = await archivesOf(context);

  await runScheduledBackup(
    instance(context, { keep: 1, store: failingStore(context, new Error('no')) }),
    RUNNING,
  );
  assert.equal(await archivesOf(context), before);

  context.clock.advance(DAY_MS);
  const store = createFolderBackupStore(context.folder.join('backups'));
  const losing = {
    ...store,
    write: async (...args: Parameters<typeof store.write>) => {
      const size = await store.write(...args);
      await rm(store.locate(args[0]));
      return size;
    },
  };
  const backup = instance(context, { keep: 1, store: losing });
  await runScheduledBackup(backup, RUNNING);
  assert.equal(await archivesOf(context), before);
  assert.match(backup.lines.join(), 'the newest backup is missing');
});

backups('has failed if it exceeds its limit', async (context) => {
  const store = createFolderBackupStore(context.folder.join('backups'));
  const late = new AbortController();
  const slow = {
    ...store,
    write: (name: string, produce: Parameters<typeof store.write>[1]) =>
      store.write(name, (target) => {
        const produced = produce(target);
        late.abort(new DOMException('The task did not end within 86400 s.', 'TimeoutError'));
        return produced;
      }),
  };
  await runScheduledBackup(instance(context, { store: slow }), late.signal);

  const [row] = await rowsOf(context);
  assert.is(row?.error, 'The task did not end within 86400 s.');
});

backups('ends with the service, leaves nothing, and is made at the next start', async (context) => {
  const stopping = new AbortController();
  const store = createFolderBackupStore(context.folder.join('backups'));
  const stopped = {
    ...store,
    write: (name: string, produce: Parameters<typeof store.write>[1]) =>
      store.write(name, (target) => {
        const produced = produce(target);
        stopping.abort(new Error('The service stops.'));
        return produced;
      }),
  };

  await runScheduledBackup(instance(context, { store: stopped }), stopping.signal);
  const afterwards = await archivesOf(context);
  const rows = await rowsOf(context);
  await runScheduledBackup(instance(context), RUNNING);

  assert.equal(afterwards, []);
  assert.equal(rows, []);
  assert.is((await archivesOf(context)).length, 1);
});

backups.run();
