import { Readable } from 'node:stream';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { isRefusal } from './s3-failure.ts';
import { createPageTokens } from './s3-pages.ts';

export type S3Place = {
  bucket: string;
  prefix: string;
  endpoint: string | undefined;
  region: string;
  pathStyle: boolean;
};

export type S3Patience = {
  connectMs: number;
  /** How long a connection may be silent, before the answer or within it. */
  silenceMs: number;
  /** Of one listing; each has up to 1,000 names. */
  maxPages: number;
};

type Put = { body: string | Readable; sizeBytes: number; onlyIfNew?: boolean };

export type S3Bucket = ReturnType<typeof openBucket>;

/** What lies directly under the prefix of a bucket, by its name there. Opening it asks nothing of the server. */
export const openBucket = ({ bucket, prefix, ...place }: S3Place, patience: S3Patience) => {
  const client = createClient(place, patience);
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`);

  return {
    /** Everything whose name begins so. */
    list: async function* (start: string): AsyncGenerator<{ name: string; sizeBytes: number }> {
      const asked = { Bucket: bucket, Prefix: keyOf(start), Delimiter: '/' };
      const nextToken = createPageTokens(patience.maxPages);
      let token: string | undefined;
      do {
        const more = token === undefined ? {} : { ContinuationToken: token };
        const page = await client.send(new ListObjectsV2Command({ ...asked, ...more }));
        // Before anything is given out: a list that cannot be had whole is none.
        token = nextToken(page);
        for (const { Key = '', Size = 0 } of page.Contents ?? []) {
          yield { name: Key.slice(keyOf('').length), sizeBytes: Size };
        }
      } while (token !== undefined);
    },

    /** The bytes of an object, unread; null when there is no such one. */
    get: async (name: string): Promise<Readable | null> => {
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: keyOf(name) }));
        if (Body instanceof Readable) return Body;
        throw new Error('The answer has no body.');
      } catch (error) {
        if (isRefusal(error, 'NoSuchKey')) return null;
        throw error;
      }
    },

    /** Puts an object there, whole or not at all. A body that breaks takes the request with it. */
    put: async (name: string, { body, sizeBytes, onlyIfNew = false }: Put): Promise<void> => {
      const object = { Bucket: bucket, Key: keyOf(name), Body: body, ContentLength: sizeBytes };
      const condition = onlyIfNew ? { IfNoneMatch: '*' } : {};
      const broken = new AbortController();
      if (body instanceof Readable) body.once('error', (error) => broken.abort(error));
      try {
        await client.send(new PutObjectCommand({ ...object, ...condition }), { abortSignal: broken.signal });
      } catch (error) {
        throw broken.signal.aborted ? broken.signal.reason : error;
      } finally {
        if (body instanceof Readable) body.destroy();
      }
    },
  };
};

const createClient = (place: Omit<S3Place, 'bucket' | 'prefix'>, patience: S3Patience): S3Client =>
  new S3Client({
    region: place.region,
    forcePathStyle: place.pathStyle,
    // Told as undefined, it would hide what the client finds in AWS_ENDPOINT_URL_S3.
    ...(place.endpoint !== undefined && { endpoint: place.endpoint }),
    maxAttempts: 3,
    logger: SILENT,
    // The newer checksums travel behind the body, which many servers other than AWS do not understand.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: patience.connectMs, socketTimeout: patience.silenceMs },
  });

/** Whatever fails is thrown, and logged by whoever catches it; without a logger the client would write to the console. */
const SILENT = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
