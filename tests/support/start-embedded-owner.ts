import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Connection } from '../../src/config/connection.ts';

/** Runs the embedded database of the folder in its argument. */
export const EMBEDDED_OWNER = new URL('./embedded-owner.ts', import.meta.url).pathname;

/** Starts the embedded database in a separate process, so that it can be killed. Resolves when it accepts connections. */
export const startEmbeddedOwner = async (
  dataDir: string,
): Promise<{ owner: ChildProcess; connection: Connection }> => {
  const owner = spawn(process.execPath, [EMBEDDED_OWNER, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(owner.stdout, 'data');
  return { owner, connection: JSON.parse(String(line)) };
};
