import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { extract, pack } from 'tar-stream';

/** A file of an archive, complete in memory or as a stream of known length. */
export type ArchiveFile = { path: string; content: Buffer | { body: Readable; sizeBytes: number } };

/** The SHA-256 of each file by its path. */
type Checksums = Record<string, string>;

/** The last file: without it, an archive is incomplete. */
const MANIFEST = 'manifest.json';

/**
 * Writes a tar archive to a stream, file by file, without holding it in memory.
 * @param describe makes the manifest from the checksums of all files
 */
export const writeArchive = async (
  target: NodeJS.WritableStream,
  files: AsyncIterable<ArchiveFile>,
  describe: (checksums: Checksums) => object,
): Promise<void> => {
  const archive = pack();
  const written = pipeline(archive, target);
  // A target that fails no longer calls the callbacks of the archive.
  const failed = written.then(() => new Promise<never>(() => {}));
  // An archive without files never awaits it.
  failed.catch(() => {});
  const checksums: Checksums = {};
  try {
    for await (const file of files)
      checksums[file.path] = await Promise.race([addFile(archive, file), failed]);
    const manifest = Buffer.from(JSON.stringify(describe(checksums), null, 2));
    await Promise.race([addFile(archive, { path: MANIFEST, content: manifest }), failed]);
    archive.finalize();
  } catch (error) {
    archive.destroy(error instanceof Error ? error : new Error(String(error)));
    // Fails with the reason of the target, if that has destroyed the archive first.
    await written;
    throw error;
  }
  await written;
};

/** @returns the SHA-256 of the file */
const addFile = async (
  archive: ReturnType<typeof pack>,
  { path: name, content }: ArchiveFile,
): Promise<string> => {
  const { body, sizeBytes } = Buffer.isBuffer(content)
    ? { body: Readable.from([content]), sizeBytes: content.length }
    : content;
  const hash = createHash('sha256');
  body.on('data', (chunk: Buffer) => hash.update(chunk));
  await pipeline(body, archive.entry({ name, size: sizeBytes }));
  return hash.digest('hex');
};

/**
 * Reads a whole archive and passes on each file except the manifest. Bytes that `onFile` does not read are skipped.
 * @returns the manifest, or null without one, and the checksums of the files as read
 */
export const readArchive = async (
  source: Readable,
  onFile: (path: string, content: AsyncIterable<Buffer>) => Promise<void>,
): Promise<{ manifest: unknown; checksums: Checksums }> => {
  const checksums: Checksums = {};
  const archive = extract();
  const fed = pipeline(source, archive);
  // A failure is reported by the loop.
  fed.catch(() => undefined);
  let manifest: unknown = null;
  for await (const entry of archive) {
    const { name } = entry.header;
    const hash = createHash('sha256');
    // A stream of bytes, which its type does not say.
    const content = tap(entry as AsyncIterable<Buffer>, (chunk) => hash.update(chunk));
    if (name === MANIFEST) manifest = JSON.parse(await text(content));
    else await onFile(name, content);
    for await (const _rest of content);
    if (name !== MANIFEST) checksums[name] = hash.digest('hex');
  }
  await fed;
  return { manifest, checksums };
};

const tap = async function* (chunks: AsyncIterable<Buffer>, onChunk: (chunk: Buffer) => void) {
  for await (const chunk of chunks) {
    onChunk(chunk);
    yield chunk;
  }
};
