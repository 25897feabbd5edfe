import { Transform } from 'node:stream';
import { BackupStoreError, errorCodeOf } from '../../lib/errno.ts';
import { readLater } from '../package-store/package-store.ts';
import { openBucket, type S3Limits, type S3Location, toSafeError } from '../package-store/s3-bucket.ts';
import type { BackupStore } from './backup-store.ts';

const DEFAULT_LIMITS: S3Limits = { connectMs: 3000, silenceMs: 60_000, maxPages: 10_000 };

/**
 * Backups as objects under a prefix of a bucket. Needs the permissions s3:ListBucket, s3:GetObject, s3:PutObject,
 * s3:AbortMultipartUpload, and s3:DeleteObject for the retention of scheduled backups.
 */
export const createS3BackupStore = (location: S3Location, limits = DEFAULT_LIMITS): BackupStore => {
  const bucket = openBucket(location, limits);
  const locate = (name: string): string =>
    `s3://${[location.bucket, location.prefix, name].filter((part) => part !== '').join('/')}`;
  const failure = (name: string, verb: string) => (error: unknown) =>
    new BackupStoreError(`${locate(name)} cannot be ${verb}: ${toSafeError(error).message}`);
  const orFail = <T>(work: Promise<T>, name: string, verb: string): Promise<T> =>
    work.catch((error: unknown) => {
      throw failure(name, verb)(error);
    });
  const sizeOf = (name: string) => orFail(bucket.sizeOf(name), name, 'found');

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
      // A stream that ended because the other end did: that one has the reason.
      const isCut =
        uploaded.status === 'rejected' &&
        produced.status === 'rejected' &&
        CUT_STREAMS.has(errorCodeOf(produced.reason) ?? '');
      if (produced.status === 'rejected' && !isCut) throw produced.reason;
      if (uploaded.status === 'rejected') throw failure(name, 'written')(uploaded.reason);
      return sizeBytes;
    },

    open: async (name) => {
      if ((await sizeOf(name)) === null) throw new BackupStoreError(`${locate(name)} does not exist.`);
      return readLater(bucket, name, failure(name, 'read'));
    },

    list: () => orFail(bucket.names(''), '', 'listed'),

    remove: (name) => orFail(bucket.remove(name), name, 'removed'),

    // Parts of an upload that never completed are not visible as objects.
    sweep: async () => ({ removed: [], kept: [] }),
  };
};

const CUT_STREAMS = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ABORT_ERR']);
