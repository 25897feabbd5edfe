import { Transform } from 'node:stream';
import { BackupStoreError, errorCodeOf } from '../../lib/errno.ts';
import { readLater } from '../package-store/package-store.ts';
import { openBucket, type S3Limits, type S3Location, toSafeError } from '../package-store/s3-bucket.ts';
import type { BackupStore } from './backup-store.ts';

const DEFAULT_LIMITS: S3Limits = { connectMs: 3000, silenceMs: 60_000 };

/**
 * Backups as objects under a prefix of a bucket. Needs the permissions s3:ListBucket, s3:GetObject, s3:PutObject,
 * s3:AbortMultipartUpload, and s3:DeleteObject for the retention of scheduled backups.
 */
export const createS3BackupStore = (location: S3Location, limits = DEFAULT_LIMITS): BackupStore => {
  const bucket = openBucket(location, limits);
  const locate = (name: string): string =>
    `s3://${[location.bucket, location.prefix, name].filter((part) => part !== '').join('/')}`;
  const failToBe =
    (verb: string, name: string) =>
    (error: unknown): never => {
      throw new BackupStoreError(`${locate(name)} cannot be ${verb}: ${toSafeError(error).message}`);
    };
  const sizeOf = (name: string) => bucket.sizeOf(name).catch(failToBe('found', name));

  return {
    locate,
    sizeOf,

    write: async (name, produce) => {
      let sizeBytes = 0;
      const body = new Transform({
        transform: (chunk: Buffer, _encoding, done) => {
          sizeBytes += chunk.length;
          done(null, chunk);
        },
      });
      const [produced, uploaded] = await Promise.allSettled([
        produce(body).catch((error: Error) => {
          body.destroy(error);
          throw error;
        }),
        // A failed upload no longer reads the body.
        bucket.upload(name, body).finally(() => body.destroy()),
      ]);
      // A stream that failed because the other one failed first: the other error has the reason.
      const isCut =
        uploaded.status === 'rejected' &&
        produced.status === 'rejected' &&
        CUT_STREAMS.has(errorCodeOf(produced.reason) ?? '');
      if (produced.status === 'rejected' && !isCut) throw produced.reason;
      if (uploaded.status === 'rejected') failToBe('written', name)(uploaded.reason);
      return sizeBytes;
    },

    open: async (name) => {
      if ((await sizeOf(name)) === null) throw new BackupStoreError(`${locate(name)} does not exist.`);
      return readLater(bucket, name, failToBe('read', name));
    },

    list: () => bucket.names('').catch(failToBe('listed', '')),

    remove: (name) => bucket.remove(name).catch(failToBe('removed', name)),

    // The parts of an unfinished upload are not visible as objects.
    sweep: async () => ({ removed: [], kept: [] }),
  };
};

const CUT_STREAMS = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ABORT_ERR']);
