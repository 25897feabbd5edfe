import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { attachToEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { readConfig } from '../../src/config/config.ts';
import { withDatabaseHost } from '../../src/server/database-host.ts';
import { makeScratchFolder } from '../support/files.ts';
import {
  killCommand,
  runCommand,
  type Service,
  type Settings,
  startService,
} from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { initializeDataDir, queryOnce } from '../support/test-server.ts';
import { until } from '../support/time.ts';
import {
  describePackages,
  installPackages,
  makeExternalDatabase,
  NOT_IN_BACKUPS,
  queryAll,
  runMeasured,
  sumsInBackup,
  sumsOf,
  type TableSums,
  usePackages,
  without,
} from './drill.ts';

/** STEWARD_DRILL=full: as many rows as the figures of decision 79. */
const SIZE =
  process.env.STEWARD_DRILL === 'full'
    ? { users: 100_000, entries: 2_000_000, apps: 200, kills: 2 }
    : { users: 2_000, entries: 20_000, apps: 10, kills: 3 };
const MAX_RSS_MB = 300;
const ADMIN = 'root@bench.test';
const PASSWORD = 'steward-bench-1';
/** The tables that logins change. */
const WRITTEN = [
  'api_tokens',
  'audit_entries',
  'event_clients',
  'events',
  'rate_limits',
  'token_uses',
  'unpublished_events',
  'users',
];

type Context = {
  folder: Awaited<ReturnType<typeof makeScratchFolder>>;
  closing: AsyncDisposableStack;
  source: Settings;
  /** Kept for later tests once it is restored. */
  external: Settings;
  packages: unknown;
  nextIds: unknown;
  before: TableSums;
  file: string;
  backupMs: number;
};
const drill = suite<Context>('restore drill');

const logIn = async (service: Service): Promise<string> => (await service.logIn(ADMIN, PASSWORD)).token;

const NEXT_IDS = `select (select last_value + is_called::int from users_id_seq)::int as user,
  (select last_value + is_called::int from usage_entries_id_seq)::int as entry`;

drill.before(async (context) => {
  context.closing = new AsyncDisposableStack();
  context.folder = context.closing.use(await makeScratchFolder());
  const { folder } = context;
  const source = { DATA_DIR: await initializeDataDir(folder.join('data')) };
  const { users, entries, apps } = SIZE;
  const plan = ['--users', users, '--entries', entries, '--apps', apps].map(String);
  await runMeasured(['bench/data.ts', ...plan], source);
  await using service = await startService('serve', source);
  const token = await logIn(service);
  await installPackages(service, token, source, folder.path);
  context.packages = await describePackages(service, token, folder.join('data/packages'));
  await service.kill('SIGTERM');
  context.before = await sumsOf(source);
  const [nextIds] = await queryAll(source, NEXT_IDS);
  Object.assign(context, { source, nextIds });
});
drill.after(({ closing }) => closing.disposeAsync());

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

drill('backs up every table while writes continue, in bounded memory', async (context) => {
  const { source, folder, before } = context;
  await using service = await startService('serve', source);
  const startedAt = performance.now();

  const backup = runMeasured(['src/cli.js', 'backup', folder.join('backups')], source);
  const logins = await writeWhile(service.address, backup);
  const { peakMb, output } = await backup;
  context.backupMs = performance.now() - startedAt;
  await service.kill('SIGKILL');
  const names = await readdir(folder.join('backups'));
  context.file = folder.join('backups', names[0] ?? '');
  const held = await sumsInBackup(context.file);

  assert.ok(logins > 0);
  assert.is(names.length, 1);
  assert.equal(without(held, WRITTEN), without(before, [...WRITTEN, ...NOT_IN_BACKUPS]));
  assert.equal(Object.keys(held).sort(), Object.keys(without(before, NOT_IN_BACKUPS)).sort());
  assert.not.equal(await sumsOf(source), before, 'logins must have changed some tables');
  assert.ok(peakMb < MAX_RSS_MB, `${peakMb} MB`);
  const seconds = (context.backupMs / 1000).toFixed(1);
  console.log(`\n# ${output.trim()} ${seconds} s. Peak: ${peakMb} MB, ${logins} logins in the meantime.`);
});

/** New rows get the ids that the source would have given to them. */
const assertNewIds = async (service: Service, token: string, settings: Settings, nextIds: unknown) => {
  const email = 'new@client-1.test';
  const user = await service.send('POST /jb/users/', {
    token,
    body: { email, client: 1, send_email: false },
  });
  const { json: apps } = await service.send('GET /jb/apps/', { token });
  const body = [{ email, action: 'DRILL' }];
  const usage = await service.send(`POST /jb/apps/${apps[0].id}/usage/`, { token, body });
  const [ids] = await queryAll(
    settings,
    `select (select id from users where email = '${email}') as user,
      (select id::int from usage_entries where email = '${email}') as entry`,
  );

  assert.equal([user.status, usage.status], [200, 201], user.text + usage.text);
  assert.equal(ids, nextIds);
};

for (const target of ['an embedded database', 'an external database'])
  drill(`restores every table and the packages into ${target}, in bounded memory`, async (context) => {
    const { folder, file, closing } = context;
    const isExternal = target === 'an external database';
    const DATA_DIR = folder.join(isExternal ? 'restored-external' : 'restored');
    const settings = { DATA_DIR, ...(isExternal && (await makeExternalDatabase(closing))) };
    if (isExternal) context.external = settings;
    const startedAt = performance.now();

    const { peakMb } = await runMeasured(['src/cli.js', 'restore', file, '--new-key'], settings);
    const seconds = (performance.now() - startedAt) / 1000;

    const sums = await sumsOf(settings);
    assert.equal(without(sums, NOT_IN_BACKUPS), await sumsInBackup(file));
    assert.is(sums.backups?.rows, 0);
    await using service = await startService('serve', settings);
    const token = await logIn(service);
    assert.equal(await describePackages(service, token, `${DATA_DIR}/packages`), context.packages);
    await usePackages(service, token);
    await assertNewIds(service, token, settings, context.nextIds);
    assert.ok(peakMb < MAX_RSS_MB, `${peakMb} MB`);
    console.log(`\n# Restored into ${target} in ${seconds.toFixed(1)} s. Peak: ${peakMb} MB.`);
  });

/** Kills the service at a random moment of a backup. @returns how the backup ended, and the files that it left */
const backUpBesideKill = async (settings: Settings, backups: string, longestMs: number) => {
  await using service = await startService('serve', settings);
  const delayMs = Math.round(Math.random() * longestMs);
  const backup = runCommand(['backup', backups], settings);
  await sleep(delayMs);
  await service.kill('SIGKILL');
  const outcome = await backup;
  const files = await readdir(backups).catch(() => []);
  return {
    ...outcome,
    files,
    report: `killed after ${delayMs} ms: ${outcome.stdout}${outcome.stderr} ${files}`,
  };
};

drill('backs up an external database to the end when the service is killed', async (context) => {
  const { folder, external, backupMs } = context;
  const backups = folder.join('beside-killed-external');

  const { code, files, report } = await backUpBesideKill(external, backups, backupMs);

  assert.is(code, 0, report);
  await sumsInBackup(`${backups}/${files[0]}`);
});

drill(
  'backs up or fails without leaving a file when the service and its database are killed',
  async (context) => {
    const { folder, source, backupMs } = context;
    for (let round = 1; round <= SIZE.kills; round += 1) {
      const backups = folder.join(`beside-killed-${round}`);
      const { code, files, stderr, report } = await backUpBesideKill(source, backups, backupMs);
      console.log(`\n# ${report.trim()}`);

      assert.is(files.length, code === 0 ? 1 : 0, report);
      if (code === 0) await sumsInBackup(`${backups}/${files[0]}`);
      else assert.match(stderr, /^The embedded database has stopped, [^\n]+\n$/, report);
    }
  },
);

drill('leaves only a draft when a backup is killed while it writes', async ({ folder, source }) => {
  const backups = folder.join('killed-backups');
  const list = async (): Promise<string[]> => readdir(backups).catch(() => []);

  const killed = await withDatabaseHost(readConfig(source), async ({ connection }) => {
    await using holder = Object.assign(new Client(connection), {
      [Symbol.asyncDispose]: (): Promise<void> => holder.end(),
    });
    await holder.connect();
    // The backup begins, and waits for this table.
    await holder.query('begin; lock table usage_entries in access exclusive mode');
    return await killCommand(['backup', backups], source, () =>
      until('the draft', async () => (await list()).length > 0),
    );
  });
  const left = await list();
  const again = await runCommand(['backup', backups], source);

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

drill('refuses a service and a restore on a killed restore', async ({ folder, file }) => {
  const settings = { DATA_DIR: folder.join('killed') };
  const pipe = folder.join('pipe');
  await promisify(execFile)('mkfifo', [pipe]);

  const killed = await killCommand(['restore', pipe, '--new-key'], settings, async () => {
    const whole = spawn('cp', [file, pipe], { stdio: 'ignore' });
    // The backup is read to check it, and then again, of which only a half comes.
    await until('it is checked', () => existsSync(join(settings.DATA_DIR, 'postgres')));
    const script = 'head -c $(($(stat -c %s "$0") / 2)) "$0"; exec sleep 3600';
    const half = spawn('sh', ['-c', `exec > "$1"; ${script}`, file, pipe], { stdio: 'ignore' });
    await until('the restore has begun to write', () => isRestoring(settings.DATA_DIR));
    for (const writer of [whole, half]) writer.kill();
  });
  const refused = await runCommand(['serve'], settings);
  const repeated = await runCommand(['restore', file, '--new-key'], settings);

  assert.is(killed.signal, 'SIGKILL');
  assert.is(refused.code, 1);
  assert.match(refused.stderr, /^A restore into this database is running or was interrupted\..*\n$/);
  assert.is(repeated.code, 1);
  assert.match(repeated.stderr, /has a database: a backup is restored into a new DATA_DIR\.\n$/);
});

drill.run();
