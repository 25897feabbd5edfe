// @ts-check
import { existsSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { join, resolve } from 'node:path';

/** Takes 10 MB for each set of Node options. */
const FOLDER = 'code-cache';
/** The commands that create `DATA_DIR`; others use an existing cache. */
const CREATING_COMMANDS = new Set(['serve', 'demo']);
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Enables Node's compile cache in `DATA_DIR/code-cache`, which halves the time of the next start. Must be called before
 * the modules to cache are loaded, and thus before settings are read. Cached code is executed: the folder must be writable
 * only by this user, unlike Node's default in the temporary folder. Without such a folder there is no cache.
 * @param {string | undefined} command
 * @param {NodeJS.ProcessEnv} env
 */
export const enableCodeCache = (command, env) => {
  // Already enabled by NODE_COMPILE_CACHE.
  if (getCompileCacheDir() !== undefined) return;
  const dataDir = resolve(env.DATA_DIR || '.steward');
  const folder = join(dataDir, FOLDER);
  try {
    if (CREATING_COMMANDS.has(command ?? '')) for (const path of [dataDir, folder]) createPrivate(path);
    if (isPrivate(statSync(dataDir)) && isPrivate(lstatSync(folder))) enableCompileCache(folder);
  } catch (_unusable) {
    // A read-only file system, or a missing folder. A start without a cache is only slower.
  }
};

/**
 * Not recursive: Node's recursive `mkdir` never returns if the file system fails with ENOENT, as /proc does.
 * @param {string} path
 */
const createPrivate = (path) => {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
};

/** @param {import('node:fs').Stats} stats */
const isPrivate = (stats) =>
  stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & WRITABLE_BY_OTHERS) === 0;
