import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { StoreLocation } from '../../config/store-config.ts';
import { reasonOf } from '../../lib/errno.ts';
import type { PackageFiles } from './package-store.ts';

export type S3Location = Omit<Extract<StoreLocation, { kind: 's3' }>, 'kind'>;

export type S3Limits = {
  connectMs: number;
  /** How long a connection may be silent, before the response or within it. */
  silenceMs: number;
};

/** Part size of a multipart upload, which has at most 10,000 parts: objects may have 160 GB. Two parts are in memory. */
const UPLOAD_PART_BYTES = 16 * 1024 * 1024;

const DEFAULT_LIMITS: S3Limits = { connectMs: 3000, silenceMs: 20_000 };

/**
 * The objects under the prefix of a bucket, named without the prefix. Opening it sends no request. Reading needs the permissions
 * s3:ListBucket and s3:GetObject, publishing s3:PutObject.
 */
export const openBucket = ({ bucket, prefix, ...location }: S3Location, limits = DEFAULT_LIMITS) => {
  const client = createClient(location, limits);
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`);

  const list = async function* (start: string): AsyncGenerator<{ name: string; sizeBytes: number }> {
    const query = { Bucket: bucket, Prefix: keyOf(start), Delimiter: '/' };
    for await (const { Contents = [] } of paginateListObjectsV2({ client }, query))
      for (const { Key = '', Size = 0 } of Contents)
        yield { name: Key.slice(keyOf('').length), sizeBytes: Size };
  };

  /** A single PUT suffices: packages have at most 100 MiB, and S3 accepts 5 GiB. */
  const put = async (name: string, body: string | Buffer, condition: { IfNoneMatch?: '*' } = {}) => {
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: keyOf(name), Body: body, ...condition }));
  };

  return {
    names: async (start) => (await Array.fromAsync(list(start))).map(({ name }) => name),

    sizeOf: async (name) => {
      for await (const found of list(name)) if (found.name === name) return found.sizeBytes;
      return null;
    },

    get: async (name) => {
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: keyOf(name) }));
        if (Body instanceof Readable) return Body;
        throw new Error('The response has no body.');
      } catch (error) {
        if (hasErrorCode(error, 'NoSuchKey')) return null;
        throw error;
      }
    },

    put: (name, body) => put(name, body),

    putIfNew: async (name, text) => {
      try {
        await put(name, text, { IfNoneMatch: '*' });
        return true;
      } catch (error) {
        if (hasErrorCode(error, 'PreconditionFailed')) return false;
        throw error;
      }
    },

    toCause: toSafeError,

    /** Writes an object of unknown size in parts. If the body fails, the upload is aborted and there is no object. */
    upload: async (name: string, body: Readable): Promise<void> => {
      const params = { Bucket: bucket, Key: keyOf(name), Body: body };
      await new Upload({ client, params, partSize: UPLOAD_PART_BYTES, queueSize: 1 }).done();
    },

    /** Removes an object, if it exists. */
    remove: async (name: string): Promise<void> => {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: keyOf(name) }));
    },
  } satisfies PackageFiles & Record<string, unknown>;
};

const createClient = (location: Omit<S3Location, 'bucket' | 'prefix'>, limits: S3Limits): S3Client =>
  new S3Client({
    region: location.region,
    forcePathStyle: location.pathStyle,
    // `undefined` would override AWS_ENDPOINT_URL_S3.
    ...(location.endpoint !== undefined && { endpoint: location.endpoint }),
    maxAttempts: 3,
    logger: SILENT,
    // Many servers other than AWS do not understand the newer checksums in a trailer.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: limits.connectMs, socketTimeout: limits.silenceMs },
  });

/** Without a logger, the client writes to the console. Errors are thrown, and the caller logs them. */
const SILENT = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Whether the server responded with this S3 error code. */
const hasErrorCode = (error: unknown, code: string): boolean =>
  error instanceof S3ServiceException && error.name === code;

/**
 * An error that is safe to log. The client's errors include the response, which may contain the access key id and the signed text: only
 * their code and status are copied.
 */
export const toSafeError = (error: unknown): Error => {
  if (error instanceof S3ServiceException)
    return new Error(`${error.name} (status ${error.$metadata.httpStatusCode})`);
  // Its message includes the endpoint, which may contain a password.
  if (error instanceof Error && error.name === 'EndpointError')
    return new Error('The endpoint of the bucket is not valid.');
  return new Error(reasonOf(error));
};
