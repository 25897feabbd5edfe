import type { S3Bucket } from './s3-bucket.ts';

/** A checksum file has 64 digits and a file name, perhaps with its folder. */
const MAX_BYTES = 4096;

/** The text of a checksum file, as far as one can be long; null when there is none. */
export const readChecksumText = async (bucket: S3Bucket, name: string): Promise<string | null> => {
  const body = await bucket.get(name);
  if (body === null) return null;
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
};
