import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import * as assert from 'uvu/assert';
import { nullIfMissing } from '../../src/lib/errno.ts';
import { ADMIN, BACKUP_PASSPHRASE, makeDemoBackup, PASSWORD } from '../support/backups.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { killCommand, runCommand, type Settings, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { until } from '../support/time.ts';

type Context = { folder: Awaited<ReturnType<typeof makeScratchFolder>>; file: string };
const killed = suite<Context>('steward restore, killed while it reads the backup');

killed.before(async (context) => {
  const folder = await makeScratchFolder();
  Object.assign(context, { folder, ...(await makeDemoBackup(folder)) });
});
killed.after(({ folder }) => folder[Symbol.asyncDispose]());

const makePipe = async (folder: Context['folder']): Promise<string> => {
  const pipe = folder.join(`pipe-${randomUUID()}`);
  await promisify(execFile)('mkfifo', [pipe]);
  return pipe;
};

/** Kills a restore that is still reading its backup, from a pipe that nobody writes to. */
const killReadingRestore = async (
  folder: Context['folder'],
  settings: Settings,
  isMarked: () => Promise<boolean>,
) => {
  const outcome = await killCommand(['restore', await makePipe(folder)], settings, () =>
    until('the target is marked', isMarked),
  );
  assert.is(outcome.signal, 'SIGKILL', outcome.stderr);
};

/** Kills a restore that has checked its backup, from a pipe that has it once, and has to read it again. */
const killCheckedRestore = async (
  { folder, file }: Context,
  settings: Settings,
  isChecked: () => Promise<boolean>,
) => {
  const pipe = await makePipe(folder);
  const writer = spawn('cp', [file, pipe], { stdio: 'ignore' });
  const outcome = await killCommand(['restore', pipe], settings, () =>
    until('the backup is checked', isChecked),
  );
  writer.kill();
  assert.is(outcome.signal, 'SIGKILL', outcome.stderr);
};

const UNFINISHED = /^A restore into this database is running or was interrupted\. [^\n]+\n$/;

killed('keeps services off its folder, and can be repeated', async (context) => {
  const { folder, file } = context;
  const settings = { DATA_DIR: folder.join('killed-early') };
  const hasFile = (name: string) => async () =>
    (await nullIfMissing(stat(folder.join('killed-early', name)))) !== null;
  await killReadingRestore(folder, settings, hasFile('restore-in-progress'));
  const early = await runCommand(['serve'], settings);
  const judged = await runCommand(['doctor'], settings);
  const keyed = { ...settings, BACKUP_PASSPHRASE };
  await killCheckedRestore(context, keyed, hasFile('secret-key'));
  const later = await runCommand(['serve'], settings);
  const repeated = await runCommand(['restore', file], keyed);

  for (const { code, stderr } of [early, later]) {
    assert.is(code, 1);
    assert.match(stderr, UNFINISHED);
  }
  assert.match(
    judged.stdout,
    /FAILURE +database +A restore into this database is running or was interrupted/,
  );
  assert.is(repeated.code, 0, repeated.stderr);
  assert.not.ok(await hasFile('restore-in-progress')());
  await using service = await startService('serve', settings);
  await service.logIn(ADMIN, PASSWORD);
});

killed('keeps services off its database, and can be repeated', async (context) => {
  const { folder, file } = context;
  await using server = await startExternalDatabase();
  const { settings, connection } = await server.makeDatabase();
  const restored = { ...settings, APP_STORE: `file:${folder.join('killed-store')}` };
  const isMarked = async (): Promise<boolean> => {
    const client = new pg.Client(connection);
    await client.connect();
    const { rows } = await client.query(`select to_regclass('restore_in_progress') as mark`);
    await client.end();
    return rows[0].mark !== null;
  };
  const cut = folder.join('cut-external.tar');
  const bytes = await readFile(file);
  await writeFile(cut, bytes.subarray(0, bytes.length / 2));
  const damaged = await runCommand(['restore', cut], restored);
  const isMarkedByDamaged = await isMarked();
  await killReadingRestore(folder, restored, isMarked);
  const refused = await runCommand(['serve'], restored);
  const repeated = await runCommand(['restore', file, '--new-key'], restored);

  assert.match(damaged.stderr, /^This is not a complete backup/);
  assert.not.ok(isMarkedByDamaged);
  assert.is(refused.code, 1);
  assert.match(refused.stderr, UNFINISHED);
  assert.is(repeated.code, 0, repeated.stderr);
  await using service = await startService('serve', restored);
  await service.logIn(ADMIN, PASSWORD);
});

killed.run();
