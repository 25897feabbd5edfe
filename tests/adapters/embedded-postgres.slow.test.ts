import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { EMBEDDED_OWNER } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { failureOf } from '../support/rejects.ts';
import { queryOnce } from '../support/test-server.ts';
import { eventually } from '../support/time.ts';

const isRoot = process.getuid?.() === 0;

const folder = await makeScratchFolder();
const dataDir = folder.join('used', 'data');

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

  const [row] = await queryOnce(
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

  const rows = await queryOnce(
    connection,
    `select rolname, rolsuper, rolcreaterole, rolreplication, rolbypassrls, pg_get_userbyid(datdba) as owner
      from pg_roles, pg_database where rolname = current_user and datname = current_database()`,
  );
  const program = await failureOf(queryOnce(connection, `copy (select 1) to program 'true'`));
  await queryOnce(connection, 'create extension pg_trgm');
  await stop();

  const no = { rolsuper: false, rolcreaterole: false, rolreplication: false, rolbypassrls: false };
  assert.equal(rows, [{ rolname: 'steward', ...no, owner: 'steward' }]);
  assert.match(program.message, 'permission denied');
});

test('refuses a password file that other users can read', async () => {
  const file = join(dataDir, 'database-password');
  await chmod(file, 0o644);

  const error = await failureOf(startEmbeddedPostgres({ dataDir }));
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

  const error = await failureOf(startEmbeddedPostgres({ dataDir }));
  await writeFile(file, password);

  assert.match(error.message, 'Restore DATA_DIR from one backup');
  assert.not.match(error.message, 'x'.repeat(64));
});

test('creates a cluster for a user without an entry in /etc/passwd', async () => {
  if (!isRoot || !(await canMapUsers())) return;
  const parent = join(tmpdir(), `${basename(folder.path)}-stranger`);
  await mkdir(parent);
  await chown(parent, STRANGER, STRANGER);
  try {
    const owner = spawn(process.execPath, [EMBEDDED_OWNER, join(parent, 'data')], {
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

  const refused = await failureOf(queryOnce({ ...connection, password: 'wrong' }, 'select 1'));
  await stop();

  assert.match(refused.message, 'password authentication failed');
});

test('needs no access to the parent folders, and does not change them', async () => {
  const parent = folder.join('closed');
  await mkdir(parent, { mode: 0o700 });

  const { stop } = await startEmbeddedPostgres({ dataDir: join(parent, 'data') });
  const owner = (await stat(join(parent, 'data', 'postgres'))).uid;
  await stop();

  assert.is((await stat(parent)).mode & 0o777, 0o700);
  assert.is(owner === process.getuid?.(), !isRoot);
});

test('refuses a second start in one line that names the first', async () => {
  const { stop } = await startEmbeddedPostgres({ dataDir });

  const reason = `Steward is already running on DATA_DIR ${dataDir} (process ${process.pid}).`;
  // A first one that is too busy to answer is not named.
  await eventually(async () => {
    const error = await failureOf(startEmbeddedPostgres({ dataDir }));
    assert.is(error.name, 'DataDirInUse');
    assert.is(error.message, `${reason} Stop it first, or set another DATA_DIR.`);
  }).finally(stop);
});

test('lets one of two simultaneous first starts succeed', async () => {
  const contested = folder.join('contested');

  const starts = await Promise.allSettled([1, 2].map(() => startEmbeddedPostgres({ dataDir: contested })));
  const winners = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const losers = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason.name] : []));
  for (const { stop } of winners) await stop();

  assert.is(winners.length, 1);
  assert.equal(losers, ['DataDirInUse']);
});

test.after(() => folder[Symbol.asyncDispose]());
test.run();
