import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parsePackageFileName } from '../../core/package-name.ts';
import { badPackage } from './package-limits.ts';
import { quoted } from './package-paths.ts';

/** A package's file, or the temporary one that it is written to. */
const PACKAGE_FORM = /^\.?(.+\.tgz)(?:\.[0-9a-f-]{36}\.tmp)?$/;

/**
 * The regular files below a folder, as paths from it, in one order on every file system. Packages of the slug
 * that were written to `outDir` before are left out, or each would hold the last one.
 * @throws Problem `bad-package` when there is a link, or anything else that is not a file
 */
export const listFiles = async (dir: string, outDir: string, slug: string): Promise<string[]> => {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory() && !isFormerPackage(entry, outDir, slug))
    .map((entry) => regularPath(dir, entry))
    .sort();
};

const regularPath = (dir: string, entry: Dirent): string => {
  const path = relative(dir, join(entry.parentPath, entry.name));
  if (entry.isFile()) return path;
  const kind = entry.isSymbolicLink() ? 'a symbolic link' : 'neither a file nor a folder';
  throw badPackage(`${quoted(path)} is ${kind}: a package holds files only.`);
};

const isFormerPackage = ({ parentPath, name }: Dirent, outDir: string, slug: string): boolean =>
  resolve(parentPath) === resolve(outDir) &&
  parsePackageFileName(PACKAGE_FORM.exec(name)?.[1] ?? '')?.slug === slug;
