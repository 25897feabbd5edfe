// @ts-check
import { existsSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { join, resolve } from 'node:path';

/** A checkout's modules take 10 MB, for each set of options that node is started with. */
const FOLDER = 'code-cache';
/** Those that make `DATA_DIR` anyway; others use what is there. */
const MAKERS = new Set(['serve', 'demo']);
const OTHERS_MAY_WRITE = 0o022;

/**
 * Has Node keep what it compiles in `DATA_DIR/code-cache`, which takes more than half off the next start. It must be
 * called before the modules are loaded that are to be kept, and so before the settings are read. What lies there is run:
 * so it is used only where nobody else can write, which the system's folder for temporary files, Node's own choice, cannot
 * promise. Without such a place everything is compiled anew; whatever is wrong with it is told by who needs it.
 * @param {string | undefined} command
 * @param {NodeJS.ProcessEnv} env
 */
export const enableCodeCache = (command, env) => {
  // NODE_COMPILE_CACHE has named a place.
  if (getCompileCacheDir() !== undefined) return;
  const dataDir = resolve(env.DATA_DIR || '.steward');
  const folder = join(dataDir, FOLDER);
  try {
    if (MAKERS.has(command ?? '')) for (const path of [dataDir, folder]) makePrivate(path);
    if (isOurs(statSync(dataDir)) && isOurs(lstatSync(folder))) enableCompileCache(folder);
  } catch (_notUsable) {
    // A file system that is read-only, or a folder that is not there.
  }
};

/**
 * One at a time: a recursive `mkdir` never ends where a file system refuses a folder with ENOENT, as /proc does.
 * @param {string} path
 */
const makePrivate = (path) => {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
};

/** @param {import('node:fs').Stats} stats */
const isOurs = (stats) =>
  stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & OTHERS_MAY_WRITE) === 0;
