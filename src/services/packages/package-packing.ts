import { randomUUID } from 'node:crypto';
import { constants, createReadStream, createWriteStream, type Dirent } from 'node:fs';
import { access, lstat, opendir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Pack } from 'tar';
import type { PackageStore } from '../../adapters/package-store/package-store.ts';
import { ensureDirectory, sha256OfFile } from '../../lib/files.ts';
import { type PackageName, parsePackageFileName, requirePackageFileName } from '../../lib/package-name.ts';
import { type InspectedPackage, inspectPackage } from './package-inspection.ts';
import { MANIFEST_FILE } from './package-manifest.ts';
import { MAX_YAML_BYTES, parseManifest } from './package-manifest-parsing.ts';
import { checkSize, invalidPackage, MAX_PACKAGE_ENTRIES, quote } from './package-rules.ts';

/** Of all files, so that the same content makes the same archive. Some readers reject 1970 as implausible. */
const MODIFIED = new Date('1980-01-01T00:00:00Z');

/**
 * Packs a folder with an `app.yaml` into `{slug}-{version}.tgz` in `outDir`, atomically. The same files always make the same bytes: a store
 * takes them again under the same name. The package has passed the inspection of a fetch. `leftOut` lists paths in the folder that are not packed; folders end with a slash.
 * @throws Problem `invalid-package`, `invalid-input` if `outDir` cannot be created
 */
export const packDirectory = async (dir: string, outDir: string) => {
  const { slug, version } = parseManifest(await readManifest(dir));
  const name = requirePackageFileName(slug, version);
  const { paths, leftOut } = await listFiles(dir, slug);

  await ensureDirectory(outDir);
  const draft = join(outDir, `.${name}.${randomUUID()}.tmp`);
  try {
    const written = createWriteStream(draft, { flags: 'wx', flush: true });
    await pipeline(createArchive(dir, paths), written);
    const { sha256, sizeBytes } = await inspectFile(draft, { slug, version });
    const file = join(outDir, name);
    await rename(draft, file);
    return { file, slug, version, sha256, sizeBytes, leftOut };
  } finally {
    await rm(draft, { force: true });
  }
};

/**
 * Publishes a package file that passes the inspection of a fetch.
 * @throws Problem `invalid-package`, `package-store-unavailable`
 */
export const publishPackageFile = async (store: PackageStore, file: string) => {
  const named = parsePackageFileName(basename(file));
  // Before the check of the name: a missing file is the likelier mistake.
  await readOr(access(file), `${file} cannot be read.`);
  if (!named) throw invalidPackage(`${basename(file)} is not named {slug}-{version}.tgz.`);
  await inspectFile(file, named);
  return { ...named, ...(await store.publish(named.slug, named.version, file)) };
};

const inspectFile = async (file: string, expected: PackageName): Promise<InspectedPackage> => {
  const stats = await readOr(stat(file), `${file} cannot be read.`);
  if (!stats.isFile()) throw invalidPackage(`${file} is not a file.`);
  const sha256 = await sha256OfFile(file);
  return inspectPackage({ body: createReadStream(file), sizeBytes: stats.size, sha256 }, expected);
};

const readManifest = async (dir: string): Promise<Buffer> => {
  const file = join(dir, MANIFEST_FILE);
  const refusal = `There is no ${MANIFEST_FILE} in ${dir} that is a file and can be read.`;
  const stats = await readOr(lstat(file), refusal);
  if (!stats.isFile()) throw invalidPackage(refusal);
  if (stats.size > MAX_YAML_BYTES) throw invalidPackage(`${MANIFEST_FILE} is larger than 1 MiB.`);
  return readOr(readFile(file), refusal);
};

const readOr = <T>(reading: Promise<T>, refusal: string): Promise<T> =>
  reading.catch((cause: unknown) => {
    throw invalidPackage(refusal, cause);
  });

/** A compressed tar stream of files: their content, path and executable bit, without owners and times. */
const createArchive = (dir: string, paths: readonly string[]): Pack => {
  const archive = new Pack({
    cwd: dir,
    noDirRecurse: true,
    preservePaths: true,
    strict: true,
    // Also omits the operating system from the gzip header.
    portable: true,
    mtime: MODIFIED,
    gzip: { level: 9 },
    filter: (_path, stat) => {
      const permissions = Number(stat.mode) & 0o111 ? 0o755 : 0o644;
      stat.mode = (Number(stat.mode) & constants.S_IFMT) | permissions;
      // A hard link is packed as a file.
      if ('nlink' in stat) stat.nlink = 1;
      return true;
    },
  });
  for (const path of paths) archive.add(path);
  return archive.end();
};

/** Not part of an app: version control, installed packages, secrets, desktop metadata. */
const LEFT_OUT = /^(\.git|\.hg|\.svn|node_modules|\.env.*|\.DS_Store|Thumbs\.db)$/;

/**
 * The regular files below a folder. Omits files that do not belong in a package, and packages of the slug, so that a package does
 * not include the previous one.
 * @returns paths relative to the folder, in the same order on every file system
 * @throws Problem `invalid-package` for links and other special files, and above the size limits
 */
export const listFiles = async (dir: string, slug: string) => {
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
    if (parsePackageFileName(entry.name)?.slug === slug) continue;
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

/** Skips omitted folders, because they are often the largest. Opens one folder at a time. */
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
