import { constants, type Dirent } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parsePackageFileName } from '../../lib/package-name.ts';
import { checkSize, invalidPackage, MAX_PACKAGE_ENTRIES, quote } from './package-rules.ts';

/** A package file, or its temporary file. */
const PACKAGE_FORM = /^\.?(.+\.tgz)(?:\.[0-9a-f-]{36}\.tmp)?$/;
/** Not part of an app: version control, installed packages, secrets, desktop metadata. */
const LEFT_OUT = /^(\.git|\.hg|\.svn|node_modules|\.env.*|\.DS_Store|Thumbs\.db)$/;

/** Paths relative to the folder, in the same order on every file system. */
export type AppFiles = { paths: string[]; leftOut: string[] };

/**
 * The regular files below a folder. Leaves out files that do not belong in a package, and packages of the slug in `outDir`,
 * so that a package does not include the previous one.
 * @throws Problem `invalid-package` for links and other special files, and above the size limits
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
    if (isPackageOf(entry, outDir, slug)) continue;
    entries += 1;
    if (entries > MAX_PACKAGE_ENTRIES)
      throw invalidPackage(`${dir} has more than ${MAX_PACKAGE_ENTRIES} files and folders.`);
    if (entry.isDirectory()) continue;
    checkType(entry, path);
    sizeBytes += (await lstat(join(dir, path))).size;
    checkSize(`The content of ${dir}`, sizeBytes);
    paths.push(path);
  }
  return { paths: paths.sort(), leftOut: leftOut.sort() };
};

/** Opens a regular file; a link fails, and a pipe does not block. The file may have been replaced since it was listed. */
export const openRegular = async (dir: string, path: string): Promise<FileHandle> => {
  const handle = await open(
    join(dir, path),
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw invalidPackage(`${quote(path)} is not a file: a package holds files only.`);
};

/** Skips folders that are left out, because they are often the largest. Opens one folder at a time. */
const entriesBelow = async function* (dir: string): AsyncGenerator<Dirent> {
  const folders = [dir];
  for (const folder of folders) {
    for await (const entry of await opendir(folder)) {
      yield entry;
      if (entry.isDirectory() && !LEFT_OUT.test(entry.name)) folders.push(join(folder, entry.name));
    }
  }
};

const checkType = (entry: Dirent, path: string): void => {
  if (entry.isFile()) return;
  const kind = entry.isSymbolicLink() ? 'a symbolic link' : 'neither a file nor a folder';
  throw invalidPackage(`${quote(path)} is ${kind}: a package holds files only.`);
};

const isPackageOf = (entry: Dirent, outDir: string, slug: string): boolean =>
  !entry.isDirectory() &&
  resolve(entry.parentPath) === resolve(outDir) &&
  parsePackageFileName(PACKAGE_FORM.exec(entry.name)?.[1] ?? '')?.slug === slug;
