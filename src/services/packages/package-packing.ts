import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { PackageStore } from '../../adapters/package-store.ts';
import { sha256Of } from '../../core/file-digest.ts';
import { type PackageName, parsePackageFileName, requirePackageFileName } from '../../core/package-name.ts';
import { archiveOf, withoutSystem } from './package-archive-writer.ts';
import { listFiles } from './package-files.ts';
import { type InspectedPackage, inspectPackage } from './package-inspection.ts';
import { badPackage } from './package-limits.ts';
import { MANIFEST_FILE, parseManifest } from './package-manifest.ts';

export type PackageFile = PackageName & { sha256: string; sizeBytes: number };

/**
 * Makes a package of a folder with an `app.yaml`: `{slug}-{version}.tgz` in `outDir`, whole or not at all. The
 * same files make the same bytes, whoever packs them, and what comes out is fit to be fetched.
 * @throws Problem `bad-package`
 */
export const packDirectory = async (dir: string, outDir: string): Promise<PackageFile & { file: string }> => {
  const { slug, version } = parseManifest(await readManifest(dir));
  const name = requirePackageFileName(slug, version);
  const paths = await listFiles(dir, outDir, slug);

  await mkdir(outDir, { recursive: true });
  const draft = join(outDir, `.${name}.${randomUUID()}.tmp`);
  try {
    const written = createWriteStream(draft, { flags: 'wx', flush: true });
    await pipeline(archiveOf(dir, paths), createGzip({ level: 9 }), withoutSystem, written);
    const { sha256, sizeBytes } = await inspectFile(draft, { slug, version });
    const file = join(outDir, name);
    await rename(draft, file);
    return { file, slug, version, sha256, sizeBytes };
  } finally {
    await rm(draft, { force: true });
  }
};

/**
 * Puts a package file into the store, once it has passed the inspection that a fetch will make.
 * @throws Problem `bad-package`, `store-away`
 */
export const publishPackageFile = async (store: PackageStore, file: string): Promise<PackageFile> => {
  const named = parsePackageFileName(basename(file));
  if (!named) throw badPackage(`${basename(file)} is not named {slug}-{version}.tgz.`);
  await inspectFile(file, named);
  return { ...named, ...(await store.publish(named.slug, named.version, file)) };
};

const inspectFile = async (file: string, expected: PackageName): Promise<InspectedPackage> => {
  const stats = await readOr(stat(file), `${file} cannot be read.`);
  if (!stats.isFile()) throw badPackage(`${file} is not a file.`);
  const sha256 = await sha256Of(file);
  return inspectPackage({ body: createReadStream(file), sizeBytes: stats.size, sha256 }, expected);
};

const readManifest = (dir: string): Promise<Buffer> =>
  readOr(readFile(join(dir, MANIFEST_FILE)), `There is no ${MANIFEST_FILE} in ${dir} that can be read.`);

const readOr = <T>(reading: Promise<T>, refusal: string): Promise<T> =>
  reading.catch((cause: unknown) => {
    throw badPackage(refusal, cause);
  });
