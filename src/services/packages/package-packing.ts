import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, type FileHandle, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Header, Pax } from 'tar';
import type { PackageStore } from '../../adapters/package-store/package-store.ts';
import { ensureDirectory, sha256OfFile } from '../../lib/files.ts';
import { type PackageName, parsePackageFileName, requirePackageFileName } from '../../lib/package-name.ts';
import { listFiles, openRegular } from './package-files.ts';
import { type InspectedPackage, inspectPackage } from './package-inspection.ts';
import { MANIFEST_FILE } from './package-manifest.ts';
import { parseManifest } from './package-manifest-parsing.ts';
import { checkSize, invalidPackage, quote } from './package-rules.ts';
import { MAX_YAML_BYTES } from './package-yaml.ts';

const BLOCK_BYTES = 512;
/** Of all files, so that the same content makes the same archive. Some readers reject 1970 as implausible. */
const MODIFIED = new Date('1980-01-01T00:00:00Z');
/** "Unknown" in byte 9 of a gzip header (RFC 1952 §2.3.1), so that all systems write the same bytes. */
const ANY_SYSTEM = 255;

/**
 * Packs a folder with an `app.yaml` into `{slug}-{version}.tgz` in `outDir`, atomically. The same files always result in
 * the same bytes. The package has passed the inspection of a fetch. `leftOut` lists paths in the folder that are not in it;
 * folders end with a slash.
 * @throws Problem `invalid-package`, `invalid-input` if `outDir` cannot be created
 */
export const packDirectory = async (dir: string, outDir: string) => {
  const { slug, version } = parseManifest(await readManifest(dir));
  const name = requirePackageFileName(slug, version);
  const { paths, leftOut } = await listFiles(dir, outDir, slug);

  await ensureDirectory(outDir);
  const draft = join(outDir, `.${name}.${randomUUID()}.tmp`);
  try {
    const written = createWriteStream(draft, { flags: 'wx', flush: true });
    await pipeline(createArchive(dir, paths), createGzip({ level: 9 }), clearGzipSystem, written);
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
  // Before the check of its name: a missing file is the likelier mistake.
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
  const refusal = `There is no ${MANIFEST_FILE} in ${dir} that is a file and can be read.`;
  await using handle = await readOr(openRegular(dir, MANIFEST_FILE), refusal);
  const { size } = await handle.stat();
  if (size > MAX_YAML_BYTES) throw invalidPackage(`${MANIFEST_FILE} is larger than 1 MiB.`);
  return await readOr(handle.readFile(), refusal);
};

const readOr = <T>(reading: Promise<T>, refusal: string): Promise<T> =>
  reading.catch((cause: unknown) => {
    throw invalidPackage(refusal, cause);
  });

/** A tar stream of files: their content, path and executable bit, without owners and times. */
const createArchive = async function* (dir: string, paths: readonly string[]) {
  let sizeBytes = 0;
  for (const path of paths) {
    for await (const chunk of entryOf(dir, path)) {
      sizeBytes += chunk.length;
      checkSize('The unpacked package', sizeBytes);
      yield chunk;
    }
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
};

const entryOf = async function* (dir: string, path: string) {
  await using handle = await openRegular(dir, path);
  const { size, mode } = await handle.stat();
  yield* headersOf(path, size, mode);
  yield* contentOf(handle, path, size);
  yield Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);
};

const headersOf = function* (path: string, size: number, fileMode: number) {
  const mode = fileMode & 0o111 ? 0o755 : 0o644;
  const header = new Header({ path, size, mode, mtime: MODIFIED, type: 'File' });
  const needsPax = header.encode();
  if (needsPax) yield new Pax({ path, size, mtime: MODIFIED }).encode();
  if (header.block) yield header.block;
};

const contentOf = async function* (handle: FileHandle, path: string, size: number) {
  let readBytes = 0;
  const chunks: AsyncIterable<Buffer> = handle.createReadStream({ autoClose: false });
  for await (const chunk of chunks) {
    readBytes += chunk.length;
    if (readBytes <= size) yield chunk;
  }
  if (readBytes !== size) throw invalidPackage(`${quote(path)} was changed while it was packed.`);
};

/** Removes the operating system from the header of a gzip stream. */
const clearGzipSystem = async function* (chunks: AsyncIterable<Buffer>) {
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst) chunk[9] = ANY_SYSTEM;
    isFirst = false;
    yield chunk;
  }
};
