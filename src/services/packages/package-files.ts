import { constants, type Dirent } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parsePackageFileName } from '../../lib/package-name.ts';
import { invalidPackage, MAX_ENTRIES, refuseOversize } from './package-limits.ts';
import { quoted } from './package-paths.ts';

/** A package's file, or the temporary one that it is written to. */
const PACKAGE_FORM = /^\.?(.+\.tgz)(?:\.[0-9a-f-]{36}\.tmp)?$/;
/** Files and folders that are nobody's app: histories, installed packages, secrets, litter of desktops. */
const LEFT_OUT = /^(\.git|\.hg|\.svn|node_modules|\.env.*|\.DS_Store|Thumbs\.db)$/;

/** Paths from the folder, in one order on every file system. */
export type AppFiles = { paths: string[]; leftOut: string[] };

/**
 * The regular files below a folder, without what belongs in no package, and without packages of the slug that were
 * written to `outDir` before, or each would hold the last one.
 * @throws Problem `invalid-package` when there is a link, or anything else that is not a file, or too much of all
 */
export const listFiles = async (dir: string, outDir: string, slug: string): Promise<AppFiles> => {
  const paths: string[] = [];
  const leftOut: string[] = [];
  let entries = 0;
  let sizeBytes = 0;
  for await (const entry of entriesBelow(dir)) {
    const path = relative(dir, join(entry.parentPath, entry.name));
    if (LEFT_OUT.test(entry.name)) {
      leftOut.push(entry.isDirectory() ? `${path}/` : path);
      continue;
    }
    if (isFormerPackage(entry, outDir, slug)) continue;
    entries += 1;
    if (entries > MAX_ENTRIES)
      throw invalidPackage(`${dir} holds more than ${MAX_ENTRIES} files and folders.`);
    if (entry.isDirectory()) continue;
    refuseOddKind(entry, path);
    sizeBytes += (await lstat(join(dir, path))).size;
    refuseOversize(`What ${dir} holds`, sizeBytes);
    paths.push(path);
  }
  return { paths: paths.sort(), leftOut: leftOut.sort() };
};

/** Opens what is sure to be a regular file: never a link, and never a pipe, for whose writer it would wait. */
export const openRegular = async (dir: string, path: string): Promise<FileHandle> => {
  const handle = await open(
    join(dir, path),
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw invalidPackage(`${quoted(path)} is not a file: a package holds files only.`);
};

/** Goes into no folder that is left out: they hold more than all the others. One is open at a time. */
const entriesBelow = async function* (dir: string): AsyncGenerator<Dirent> {
  const folders = [dir];
  for (const folder of folders) {
    for await (const entry of await opendir(folder)) {
      yield entry;
      if (entry.isDirectory() && !LEFT_OUT.test(entry.name)) folders.push(join(folder, entry.name));
    }
  }
};

const refuseOddKind = (entry: Dirent, path: string): void => {
  if (entry.isFile()) return;
  const kind = entry.isSymbolicLink() ? 'a symbolic link' : 'neither a file nor a folder';
  throw invalidPackage(`${quoted(path)} is ${kind}: a package holds files only.`);
};

const isFormerPackage = (entry: Dirent, outDir: string, slug: string): boolean =>
  !entry.isDirectory() &&
  resolve(entry.parentPath) === resolve(outDir) &&
  parsePackageFileName(PACKAGE_FORM.exec(entry.name)?.[1] ?? '')?.slug === slug;
