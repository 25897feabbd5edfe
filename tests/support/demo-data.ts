import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { makeOncePerRun, makeScratchFolder } from './files.ts';
import { startService } from './service-process.ts';
import { initializeDataDir } from './test-server.ts';

const startDemoOnce = async (dataDir: string): Promise<void> => {
  const service = await startService('demo', { DATA_DIR: await initializeDataDir(dataDir) });
  await service.kill('SIGTERM');
};

/**
 * Fills a DATA_DIR as the first start of the demo does. It is a copy, which takes a twentieth of the CPU time.
 * @returns the folder
 */
export const initializeDemoDir = async (dataDir: string): Promise<string> => {
  const original = await makeOncePerRun('demo', startDemoOnce);
  await mkdir(dataDir, { recursive: true });
  // Keeps the owner, which Node's `cp` does not.
  await promisify(execFile)('cp', ['-a', `${original}/.`, dataDir]);
  return dataDir;
};

/** Makes a temporary DATA_DIR for a demo. Disposing it removes it. */
export const makeDemoDir = async () => {
  const folder = await makeScratchFolder();
  await initializeDemoDir(folder.path);
  return folder;
};
