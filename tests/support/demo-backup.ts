import * as assert from 'uvu/assert';
import { initializeDataDir } from './data-dir.ts';
import type { makeScratchFolder } from './scratch-folder.ts';
import { runCommand, startService } from './service-process.ts';

export const ADMIN = 'root@steward.test';
export const PASSWORD = 'steward-demo-1';
export const BACKUP_PASSPHRASE = 'correct horse battery staple';

type Folder = Awaited<ReturnType<typeof makeScratchFolder>>;

/** Makes a backup of a running demo in `data`, with its secret key. @returns the file, and a token of the superuser */
export const makeDemoBackup = async (folder: Folder): Promise<{ file: string; token: string }> => {
  const settings = { DATA_DIR: await initializeDataDir(folder.join('data')) };
  await using service = await startService('demo', settings);
  const { token } = await service.logIn(ADMIN, PASSWORD);
  const { code, stdout, stderr } = await runCommand(['backup', folder.join('backups'), '--with-key'], {
    ...settings,
    BACKUP_PASSPHRASE,
  });
  assert.is(code, 0, stderr);
  const [, file = ''] =
    /^Wrote (\S+): [\d,]+ rows of \d+ tables, 5 packages, [\d.]+ MB\.\n$/.exec(stdout) ?? [];
  assert.ok(file, stdout);
  return { file, token };
};
