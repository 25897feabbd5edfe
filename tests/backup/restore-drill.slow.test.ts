import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { attachToEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { readConfig } from '../../src/config/config.ts';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { settleTls } from '../../src/db/single-client.ts';
import { withDatabaseHost } from '../../src/server/database-host.ts';
import { startExternalDatabase } from '../support/external-database.ts';
import { until } from '../support/poll.ts';
import { makeScratchFolder } from '../support/scratch-folder.ts';
import { killCommand, runCommand, startService } from '../support/service-process.ts';
import { administer, dropStatements, queryOnce } from '../support/test-server.ts';

/** STEWARD_DRILL=full: as many rows as the figures of decision 79. */
const SIZE =
  process.env.STEWARD_DRILL === 'full'
    ? { users: 100_000, entries: 2_000_000, apps: 200 }
    : { users: 2_000, entries: 40_000, apps: 10 };
const MAX_RSS_MB = 300;
const ADMIN = 'root@bench.test';
const PASSWORD = 'steward-bench-1';
const PROJECT = join(import.meta.dirname, '../..');

type Context = { folder: Awaited<ReturnType<typeof makeScratchFolder>>; file: string; sums: unknown };
const drill = suite<Context>('restore drill');

/** Runs a program of the project to its end. @returns its output and the peak of its memory */
const runMeasured = async (args: string[], settings: Record<string, string>) => {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, args, { cwd: PROJECT, env: { PATH, HOME, ...settings } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  let peakMb = 0;
  await until(
    `the end of ${args.join(' ')}`,
    async () => {
      // The file disappears with the process; only Linux has it.
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
      peakMb = Math.max(peakMb, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
      return child.exitCode !== null || child.signalCode !== null;
    },
    3_600_000,
  );
  assert.is(child.exitCode, 0, output);
  return { output, peakMb };
};

/** Of tables that nothing changes during the drill. */
const SUMS = `select
  (select count(*)::int || ' ' || sum(hashtextextended(u::text, 0)::numeric)
    from (select id, email, password_hash, extra::text, date_joined from users where email <> '${ADMIN}') u) as users,
  (select count(*)::int || ' ' || sum(hashtextextended(e::text, 0)::numeric) from usage_entries e) as usage,
  (select count(*)::int || ' ' || sum(hashtextextended(g::text, 0)::numeric) from app_grants g) as grants`;

const sumsOf = (settings: Record<string, string>): Promise<unknown> =>
  withDatabaseHost(readConfig(settings), ({ connection }) => queryOnce(connection, SUMS));

const writeWhile = async (address: string, work: Promise<unknown>): Promise<number> => {
  let isWorking = true;
  let logins = 0;
  const ended = work.finally(() => {
    isWorking = false;
  });
  const body = JSON.stringify({ username: ADMIN, password: PASSWORD });
  const headers = { 'content-type': 'application/json' };
  while (isWorking) {
    const response = await fetch(`${address}/api/v1/api-token-auth/`, { method: 'POST', body, headers });
    if (response.ok) logins += 1;
  }
  await ended;
  return logins;
};

drill.before(async (context) => {
  context.folder = await makeScratchFolder();
  const settings = { DATA_DIR: context.folder.join('data') };
  const { users, entries, apps } = SIZE;
  const plan = ['--users', users, '--entries', entries, '--apps', apps].map(String);
  await runMeasured(['bench/data.ts', ...plan], settings);
  context.sums = await sumsOf(settings);
});
drill.after(({ folder }) => folder[Symbol.asyncDispose]());

drill('backs up while writes continue, in bounded memory', async (context) => {
  const settings = { DATA_DIR: context.folder.join('data') };
  await using service = await startService('serve', settings);

  const backup = runMeasured(['src/cli.js', 'backup', context.folder.join('backups')], settings);
  const logins = await writeWhile(service.address, backup);
  const { peakMb, output } = await backup;
  await service.kill('SIGKILL');
  const names = await readdir(context.folder.join('backups'));
  context.file = context.folder.join('backups', names[0] ?? '');

  assert.ok(logins > 0);
  assert.is(names.length, 1);
  assert.ok(peakMb < MAX_RSS_MB, `${peakMb} MB`);
  console.log(`\n# ${output.trim()} Peak: ${peakMb.toFixed(0)} MB, ${logins} logins in the meantime.`);
});

/** An empty database on the server of TEST_DATABASE_URL, which is Debian's in CI, or on one of its own. */
const makeExternalDatabase = async (closing: AsyncDisposableStack): Promise<Record<string, string>> => {
  const url = process.env.TEST_DATABASE_URL;
  if (!url) return (await closing.use(await startExternalDatabase()).makeDatabase()).settings;
  const name = `restore_drill_${randomBytes(4).toString('hex')}`;
  const server = await settleTls(parseDatabaseUrl(url));
  await administer(server, `create database ${name}`);
  closing.defer(() => administer(server, ...dropStatements(name)));
  const DATABASE_URL = url.replace(/\/[^/?]+(?=\?|$)/, `/${name}`);
  return { DATABASE_URL, SECRET_KEY: 'a secret key that only tests ever use' };
};

for (const target of ['an embedded database', 'an external database'])
  drill(`restores the same rows into ${target}, in bounded memory`, async ({ folder, file, sums }) => {
    await using closing = new AsyncDisposableStack();
    let settings: Record<string, string> = { DATA_DIR: folder.join('restored') };
    if (target === 'an external database') {
      settings = { ...settings, ...(await makeExternalDatabase(closing)) };
    }
    const started = performance.now();

    const { peakMb } = await runMeasured(['src/cli.js', 'restore', file], settings);
    const seconds = (performance.now() - started) / 1000;

    assert.equal(await sumsOf(settings), sums);
    await using service = await startService('serve', settings);
    await service.logIn(ADMIN, PASSWORD);
    assert.ok(peakMb < MAX_RSS_MB, `${peakMb} MB`);
    console.log(`\n# Restored into ${target} in ${seconds.toFixed(1)} s. Peak: ${peakMb.toFixed(0)} MB.`);
  });

drill('leaves only a draft when a backup is killed while it writes', async ({ folder }) => {
  const backups = folder.join('killed-backups');
  const settings = { DATA_DIR: folder.join('data') };
  const list = async (): Promise<string[]> => readdir(backups).catch(() => []);

  const killed = await killCommand(['backup', backups], settings, () =>
    until('the draft', async () => (await list()).length > 0),
  );
  const left = await list();
  const again = await runCommand(['backup', backups], settings);

  assert.is(killed.signal, 'SIGKILL');
  assert.is(left.length, 1);
  assert.match(left[0] ?? '', /\.tar\.partial$/);
  assert.match(again.stdout, /\.partial belongs to a backup that is running or was killed/);
  assert.is(again.code, 0, again.stderr);
});

/** Whether the restore that owns the server has marked its database. */
const isRestoring = async (dataDir: string): Promise<boolean> => {
  const attached = await attachToEmbeddedPostgres(dataDir).catch(() => null);
  if (!attached) return false;
  const sql = `select to_regclass('restore_in_progress') is not null as "isMarked"`;
  const rows = await queryOnce(attached.connection, sql).catch(() => []);
  await attached.detach();
  return rows[0]?.isMarked === true;
};

drill('refuses a service on a killed restore, and continues the restore', async ({ folder, file, sums }) => {
  const settings = { DATA_DIR: folder.join('killed') };

  const killed = await killCommand(['restore', file], settings, () =>
    until('the restore has begun to write', () => isRestoring(settings.DATA_DIR)),
  );
  const refused = await runCommand(['serve'], settings);
  const continued = await runCommand(['restore', file], settings);

  assert.is(killed.signal, 'SIGKILL');
  assert.is(refused.code, 1);
  assert.match(refused.stderr, /^A restore into this database is running or was interrupted\..*\n$/);
  assert.is(continued.code, 0, continued.stderr);
  assert.equal(await sumsOf(settings), sums);
});

drill.run();
