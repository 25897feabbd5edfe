import { text } from 'node:stream/consumers';
import yauzl from 'yauzl';

/** The files of a zip archive, read by another library than the one that writes it. Fails if a checksum is wrong. */
export const unzip = async (archive: Buffer): Promise<Map<string, string>> => {
  const zip = await yauzl.fromBufferPromise(archive);
  const files = new Map<string, string>();
  for await (const entry of zip.eachEntry())
    files.set(entry.fileName, await text(await zip.openReadStreamPromise(entry)));
  return files;
};
