import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  access,
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canReach } from '../../src/adapters/embedded-postgres/account.ts';
import { copyBinaries } from '../../src/adapters/embedded-postgres/binaries.ts';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import type { Connection } from '../../src/config/connection.ts';

const OWNER = new URL('../support/embedded-owner.ts', import.meta.url).pathname;
const isRoot = process.getuid?.() === 0;

const folder = await mkdtemp(join(tmpdir(), 'steward-test-'));
const dataDir = join(folder, 'used', 'data');

const query = async (connection: Connection, sql: string): Promise<unknown[]> => {
  const client = new Client(connection);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
};

const failure = async (attempt: Promise<unknown>): Promise<Error> => {
  const [outcome] = await Promise.allSettled([attempt]);
  if (outcome.status === 'fulfilled') throw new Error('it should have failed');
  return outcome.reason;
};

const startOwner = async (dir: string): Promise<{ owner: ChildProcess; connection: Connection }> => {
  const owner = spawn(process.execPath, [OWNER, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(owner.stdout, 'data');
  return { owner, connection: JSON.parse(String(line)) };
};

const serverPid = async (dir: string): Promise<number> =>
  Number.parseInt(await readFile(join(dir, 'postgres', 'postmaster.pid'), 'utf8'), 10);

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** A uid that has no entry in /etc/passwd. */
const STRANGER = 61_999;

/** Docker's default profile and some distributions refuse user namespaces. */
const canMapUsers = async (): Promise<boolean> => {
  const child = spawn('unshare', ['--user', '--map-user=65534', 'true'], { uid: STRANGER, gid: STRANGER });
  const [status] = await Promise.race([once(child, 'exit'), once(child, 'error')]);
  return status === 0;
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const test = suite('startEmbeddedPostgres');

test('creates a UTF-8 database that syncs to disk and listens on a private socket only', async () => {
  const { connection, stop } = await startEmbeddedPostgres({ dataDir });

  const [row] = await query(
    connection,
    `select current_database() as name, getdatabaseencoding() as encoding, current_setting('fsync') as fsync,
      current_setting('listen_addresses') as addresses, upper('é') as upper, 'a' < 'B' as alphabetical`,
  );
  const socketMode = (await stat(connection.host)).mode & 0o777;
  await stop();

  const settings = { name: 'steward', encoding: 'UTF8', fsync: 'on', addresses: '' };
  assert.equal({ ...(row as object) }, { ...settings, upper: 'É', alphabetical: false });
  assert.is(socketMode, 0o700);
  assert.not(await exists(connection.host), 'the socket directory is removed');
});

test('keeps the password unreadable for the user that runs the server', async () => {
  const file = await stat(join(dataDir, 'database-password'));

  assert.is(file.mode & 0o777, 0o600);
  assert.is(file.uid, process.getuid?.());
  assert.is((await stat(join(dataDir, 'postgres'))).mode & 0o777, 0o700);
  assert.is((await stat(dataDir)).mode & 0o777, 0o700);
  assert.not((await readdir(join(dataDir, 'postgres'))).some((name) => name.includes('password')));
});

test('runs as root under a uid that is not shared with other programs', async () => {
  if (!isRoot) return;
  const cluster = await stat(join(dataDir, 'postgres'));
  const names = await readdir(join(dataDir, 'postgres'), { recursive: true });
  const owners = await Promise.all(
    names.map(async (name) => (await stat(join(dataDir, 'postgres', name))).uid),
  );

  assert.ok(cluster.uid >= 60_706 && cluster.uid <= 61_183, `uid ${cluster.uid}`);
  assert.equal([...new Set(owners)], [cluster.uid]);
});

test('logs in as a role that owns its database and is not a superuser', async () => {
  const { connection, stop } = await startEmbeddedPostgres({ dataDir });

  const rows = await query(
    connection,
    `select rolname, rolsuper, rolcreaterole, rolreplication, rolbypassrls, pg_get_userbyid(datdba) as owner
      from pg_roles, pg_database where rolname = current_user and datname = current_database()`,
  );
  const program = await failure(query(connection, `copy (select 1) to program 'true'`));
  await query(connection, 'create extension pg_trgm');
  await stop();

  const no = { rolsuper: false, rolcreaterole: false, rolreplication: false, rolbypassrls: false };
  assert.equal(rows, [{ rolname: 'steward', ...no, owner: 'steward' }]);
  assert.match(program.message, 'permission denied');
});

test('refuses a password file that other users can read', async () => {
  const file = join(dataDir, 'database-password');
  await chmod(file, 0o644);

  const error = await failure(startEmbeddedPostgres({ dataDir }));
  await chmod(file, 0o600);

  assert.is(
    error.message,
    `${file} has mode 0644, but must be accessible to its owner only (0600). Run: chmod 600 '${file}'`,
  );
});

test('refuses a password that is not that of the cluster', async () => {
  const file = join(dataDir, 'database-password');
  const password = await readFile(file, 'utf8');
  await writeFile(file, 'x'.repeat(64));

  const error = await failure(startEmbeddedPostgres({ dataDir }));
  await writeFile(file, password);

  assert.match(error.message, 'Restore DATA_DIR from one backup');
  assert.not.match(error.message, 'x'.repeat(64));
});

test('creates a cluster for a user without an entry in /etc/passwd', async () => {
  if (!isRoot || !(await canMapUsers())) return;
  const parent = join(tmpdir(), `${basename(folder)}-stranger`);
  await mkdir(parent);
  await chown(parent, STRANGER, STRANGER);
  try {
    const owner = spawn(process.execPath, [OWNER, join(parent, 'data')], {
      uid: STRANGER,
      gid: STRANGER,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = once(owner.stdout, 'data').then(([line]) => JSON.parse(String(line)));
    const complaint = once(owner.stderr, 'data').then(([line]) => Promise.reject(new Error(String(line))));
    const { user } = await Promise.race([said, complaint]);
    owner.kill('SIGTERM');
    await once(owner, 'exit');

    assert.is(user, 'steward');
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
});

test('requires the password', async () => {
  const { connection, stop } = await startEmbeddedPostgres({ dataDir });

  const refused = await failure(query({ ...connection, password: 'wrong' }, 'select 1'));
  await stop();

  assert.match(refused.message, 'password authentication failed');
});

test('needs no access to the parent folders, and does not change them', async () => {
  const parent = join(folder, 'closed');
  await mkdir(parent, { mode: 0o700 });

  const { stop } = await startEmbeddedPostgres({ dataDir: join(parent, 'data') });
  const owner = (await stat(join(parent, 'data', 'postgres'))).uid;
  await stop();

  assert.is((await stat(parent)).mode & 0o777, 0o700);
  assert.is(owner === process.getuid?.(), !isRoot);
});

test('refuses a second start in one line that names the first', async () => {
  const { stop } = await startEmbeddedPostgres({ dataDir });

  const error = await failure(startEmbeddedPostgres({ dataDir }));
  await stop();

  assert.is(error.name, 'DataDirInUse');
  const reason = `Steward is already running on DATA_DIR ${dataDir} (process ${process.pid}).`;
  assert.is(error.message, `${reason} Stop it first, or set another DATA_DIR.`);
});

test('lets one of two simultaneous first starts succeed', async () => {
  const contested = join(folder, 'contested');

  const starts = await Promise.allSettled([1, 2].map(() => startEmbeddedPostgres({ dataDir: contested })));
  const winners = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const losers = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason.name] : []));
  for (const { stop } of winners) await stop();

  assert.is(winners.length, 1);
  assert.equal(losers, ['DataDirInUse']);
});

test('stops when its owner ends in any way, and keeps committed data', async () => {
  const { owner, connection } = await startOwner(dataDir);
  const pid = await serverPid(dataDir);
  await query(connection, 'create table kept (id int); insert into kept values (7)');

  owner.kill('SIGKILL');
  const { connection: next, stop } = await startEmbeddedPostgres({ dataDir });
  const rows = await query(next, 'select id from kept');
  await stop();

  assert.not(isAlive(pid));
  assert.equal(rows, [{ id: 7 }]);
});

test('leaves no process running if there is no second start', async () => {
  const { owner, connection } = await startOwner(dataDir);
  const pid = await serverPid(dataDir);

  owner.kill('SIGKILL');
  for (let tries = 0; tries < 500 && (isAlive(pid) || (await exists(connection.host))); tries++)
    await sleep(10);

  assert.not(isAlive(pid));
  assert.not(await exists(connection.host), 'the socket directory is removed');
});

test('starts despite a lock file whose process id now belongs to another process', async () => {
  const lockFile = join(dataDir, 'postgres', 'postmaster.pid');
  // PostgreSQL only treats processes of its own user as alive.
  const owner = await stat(join(dataDir, 'postgres'));
  const stranger = spawn('sleep', ['60'], isRoot ? { uid: owner.uid, gid: owner.gid } : {});
  const lines = [stranger.pid, '/proc/self/cwd', 1, 5432, '/tmp/steward-gone', '', ' 1 1', 'ready', ''];
  await writeFile(lockFile, lines.join('\n'));
  if (isRoot) await chown(lockFile, owner.uid, owner.gid);

  const { stop } = await startEmbeddedPostgres({ dataDir }).finally(() => stranger.kill());
  await stop();

  assert.not(await exists(lockFile));
});

test('starts after a killed initdb', async () => {
  const halfway = join(folder, 'halfway');
  await mkdir(join(halfway, 'postgres.initdb-aaaaaa', 'data', 'base'), { recursive: true });
  const owner = spawn(process.execPath, [OWNER, halfway], { stdio: 'ignore' });
  const isMaking = async () =>
    (await readdir(halfway)).filter((name) => name.includes('initdb')).length === 1;
  for (let tries = 0; tries < 1000 && !(await isMaking()); tries++) await sleep(1);
  owner.kill('SIGKILL');

  const { connection, stop } = await startEmbeddedPostgres({ dataDir: halfway });
  const rows = await query(connection, 'select 1 as one');
  await stop();

  assert.equal(rows, [{ one: 1 }]);
  assert.not((await readdir(halfway)).some((name) => name.includes('initdb')));
});

test('reports when the server ends unexpectedly', async () => {
  const { exited, stop } = await startEmbeddedPostgres({ dataDir });

  process.kill(await serverPid(dataDir), 'SIGQUIT');
  const status = await exited;
  await stop();

  assert.is(status, 0);
});

test('reports why the server does not start', async () => {
  const start = startEmbeddedPostgres({ dataDir, postgresSettings: { shared_buffers: 'plenty' } });

  const error = await failure(start);

  assert.is(error.name, 'EmbeddedPostgresError');
  assert.match(error.message, 'invalid value for parameter "shared_buffers": "plenty"');
});

test('refuses a database of another major version', async () => {
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '17\n');

  const error = await failure(startEmbeddedPostgres({ dataDir }));

  assert.match(error.message, 'was created by PostgreSQL 17; this Steward includes PostgreSQL 18');
});

test.run();

const binaries = suite('copyBinaries');

binaries('makes a copy that every account can run, once', async () => {
  const native = join(folder, 'package', 'native');
  await mkdir(join(native, 'bin'), { recursive: true, mode: 0o700 });
  await mkdir(join(native, 'lib'));
  await writeFile(join(native, 'bin', 'postgres'), '', { mode: 0o700 });
  await writeFile(join(native, 'lib', 'libpq.so.5.18'), '', { mode: 0o600 });
  const link = { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' };
  await writeFile(join(native, 'pg-symlinks.json'), JSON.stringify([link]));
  const source = { native, version: '18.0.0', account: undefined, privateDir: folder };

  const copies = await Promise.all([copyBinaries(source), copyBinaries(source)]);
  const again = await copyBinaries(source);

  assert.equal(copies, [again, again]);
  assert.is((await stat(join(again, 'bin', 'postgres'))).mode & 0o777, 0o755);
  assert.is((await stat(join(again, 'lib', 'libpq.so.5'))).mode & 0o777, 0o644);
  assert.equal((await readdir(folder)).filter((name) => name.startsWith('steward-postgres')).length, 1);
});

binaries('detects a folder that the account cannot enter', async () => {
  const stranger = { uid: 65533, gid: 65533 };

  assert.ok(await canReach('/usr/bin', stranger));
  assert.not(await canReach(folder, stranger));
});

binaries.after(() => rm(folder, { recursive: true, force: true }));
binaries.run();
