import { spawn } from 'node:child_process';
import { access, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { EMBEDDED_OWNER, startEmbeddedOwner } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { failureOf } from '../support/rejects.ts';
import { queryOnce } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const isRoot = process.getuid?.() === 0;

const folder = await makeScratchFolder();
const dataDir = folder.join('used', 'data');

const serverPid = async (dir: string): Promise<number> =>
  Number.parseInt(await readFile(join(dir, 'postgres', 'postmaster.pid'), 'utf8'), 10);

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const test = suite('startEmbeddedPostgres: crashes and failures');

test('stops when its owner ends in any way, and keeps committed data', async () => {
  const { owner, connection } = await startEmbeddedOwner(dataDir);
  const pid = await serverPid(dataDir);
  await queryOnce(connection, 'create table kept (id int); insert into kept values (7)');

  owner.kill('SIGKILL');
  const { connection: next, stop } = await startEmbeddedPostgres({ dataDir });
  const rows = await queryOnce(next, 'select id from kept');
  await stop();

  assert.not(isAlive(pid));
  assert.equal(rows, [{ id: 7 }]);
});

test('leaves no process running if there is no second start', async () => {
  const { owner, connection } = await startEmbeddedOwner(dataDir);
  const pid = await serverPid(dataDir);

  owner.kill('SIGKILL');
  await until('the server ends', () => !isAlive(pid));
  await until('the socket directory is removed', async () => !(await exists(connection.host)));
});

test('starts despite a lock file whose process id now belongs to another process', async () => {
  const lockFile = join(dataDir, 'postgres', 'postmaster.pid');
  // PostgreSQL only treats processes of the same user as alive.
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
  const halfway = folder.join('halfway');
  await mkdir(join(halfway, 'postgres.initdb-aaaaaa', 'data', 'base'), { recursive: true });
  const owner = spawn(process.execPath, [EMBEDDED_OWNER, halfway], { stdio: 'ignore' });
  // In a new folder: that of the first one is removed.
  const isMaking = (name: string): boolean => /^postgres($|\.initdb-(?!aaaaaa))/.test(name);
  await until('it creates a cluster', async () => (await readdir(halfway)).some(isMaking));
  owner.kill('SIGKILL');

  const { connection, stop } = await startEmbeddedPostgres({ dataDir: halfway });
  const rows = await queryOnce(connection, 'select 1 as one');
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

  const error = await failureOf(start);

  assert.is(error.name, 'EmbeddedPostgresError');
  assert.match(error.message, 'invalid value for parameter "shared_buffers": "plenty"');
});

test.after(() => folder[Symbol.asyncDispose]());
test.run();
