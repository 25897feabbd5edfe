import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { z } from 'zod';
import type { StoreLocation } from '../../config/store-config.ts';
import { reasonOf } from '../../lib/errno.ts';
import { endWith, tracing } from '../../lib/tracing.ts';
import type { PackageFiles } from './package-store.ts';

export type S3Location = Omit<Extract<StoreLocation, { kind: 's3' }>, 'kind'>;

export type S3Limits = {
  connectMs: number;
  /** How long a connection may be silent, before the response or within it. */
  silenceMs: number;
  /** Per listing; each page has up to 1,000 names. */
  maxPages: number;
};

/** Of a multipart upload, which has at most 10,000 parts: objects may have 160 GB. Two are in memory. */
const UPLOAD_PART_BYTES = 16 * 1024 * 1024;

const DEFAULT_LIMITS: S3Limits = { connectMs: 3000, silenceMs: 20_000, maxPages: 10_000 };

/**
 * The objects under the prefix of a bucket, named without the prefix. Opening it sends no request. Reading needs the permissions
 * s3:ListBucket and s3:GetObject, publishing s3:PutObject.
 */
export const openBucket = ({ bucket, prefix, ...location }: S3Location, limits = DEFAULT_LIMITS) => {
  const client = createClient(location, limits);
  traceRequests(client, bucket);
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`);

  const list = async function* (start: string): AsyncGenerator<{ name: string; sizeBytes: number }> {
    const query = { Bucket: bucket, Prefix: keyOf(start), Delimiter: '/' };
    const tokens = new Set<string>();
    let token: string | undefined;
    do {
      const page = await client.send(new ListObjectsV2Command({ ...query, ContinuationToken: token }));
      token = nextTokenOf(page, tokens, limits.maxPages);
      for (const { Key = '', Size = 0 } of page.Contents ?? [])
        yield { name: Key.slice(keyOf('').length), sizeBytes: Size };
    } while (token !== undefined);
  };

  /** The request is aborted if the body fails. One is enough: packages have at most 100 MiB, and S3 accepts 5 GiB. */
  const put = async (
    name: string,
    { body, sizeBytes }: { body: string | Readable; sizeBytes: number },
    condition: { IfNoneMatch?: '*' } = {},
  ): Promise<void> => {
    const object = { Bucket: bucket, Key: keyOf(name), Body: body, ContentLength: sizeBytes };
    const broken = new AbortController();
    if (body instanceof Readable) body.once('error', (error) => broken.abort(error));
    try {
      await client.send(new PutObjectCommand({ ...object, ...condition }), { abortSignal: broken.signal });
    } catch (error) {
      throw broken.signal.aborted ? broken.signal.reason : error;
    } finally {
      if (body instanceof Readable) body.destroy();
    }
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

    put: (name, content) => put(name, content),

    putIfNew: async (name, text) => {
      const content = { body: text, sizeBytes: Buffer.byteLength(text) };
      try {
        await put(name, content, { IfNoneMatch: '*' });
      } catch (error) {
        if (hasErrorCode(error, 'PreconditionFailed', 'ConditionalRequestConflict')) return false;
        // Of servers that do not know the condition.
        if (!hasErrorCode(error, 'NotImplemented', 'InvalidArgument')) throw error;
        await put(name, content);
      }
      return true;
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

/**
 * The token of the next page of a listing; undefined after the last page.
 * @throws Error for a listing that would never end, or would end early
 */
const nextTokenOf = (
  { IsTruncated, NextContinuationToken: token }: ListObjectsV2CommandOutput,
  tokens: Set<string>,
  maxPages: number,
): string | undefined => {
  // Missing from a response that is not from an S3 server, such as an HTML page.
  if (IsTruncated === undefined) throw new Error('The response is not an S3 listing.');
  if (!IsTruncated) return undefined;
  if (token === undefined) throw new Error('The listing is incomplete.');
  if (tokens.has(token)) throw new Error('The listing returned to an earlier page.');
  tokens.add(token);
  if (tokens.size >= maxPages) throw new Error(`The listing has more than ${maxPages} pages.`);
  return token;
};

const createClient = (location: Omit<S3Location, 'bucket' | 'prefix'>, limits: S3Limits): S3Client =>
  new S3Client({
    region: location.region,
    forcePathStyle: location.pathStyle,
    // As undefined it would override AWS_ENDPOINT_URL_S3.
    ...(location.endpoint !== undefined && { endpoint: location.endpoint }),
    maxAttempts: 3,
    logger: SILENT,
    // Many servers other than AWS do not understand the newer checksums in a trailer.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: limits.connectMs, socketTimeout: limits.silenceMs },
  });

/** Without a logger, the client writes to the console. Errors are thrown, and logged by the caller. */
const SILENT = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const MAX_MESSAGE_LENGTH = 300;
/** `NoSuchKey`: without digits, which access keys and signatures have. */
const CODE = /^[A-Z][A-Za-z]{2,59}$/;
/** AWS uses 16 characters, other servers up to 60; a signature has 64. */
const REQUEST_ID = /^[\w-]{1,60}$/;

/** Whether the server responded with one of these S3 error codes. */
const hasErrorCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof S3ServiceException && codes.includes(error.name);

/**
 * A copy of an error that is safe to log. The client's errors include the response, and with it possibly the access key id
 * and the signed text. Of a response, only its code, status and request id are copied, if they have the expected form.
 */
export const toSafeError = (error: unknown): Error => {
  if (!(error instanceof Error)) return new Error(String(error));
  return new Error(messageOf(error).slice(0, MAX_MESSAGE_LENGTH));
};

const messageOf = (error: Error): string => {
  // A host with several addresses: one error per address.
  if (error instanceof AggregateError) return error.errors.map((one) => toSafeError(one).message).join('; ');
  const { data } = WithMetadata.safeParse(error);
  if (data || '$response' in error || error instanceof S3ServiceException) {
    const code = CODE.test(error.name) && error.name !== 'Error' ? error.name : 'Unreadable response';
    const { httpStatusCode = 'none', requestId = 'none' } = data?.$metadata ?? {};
    return `${code} (status ${httpStatusCode}, request id ${requestId})`;
  }
  // Its message includes the endpoint, which may contain a password.
  if (error.name === 'EndpointError') return 'The endpoint of the bucket is not valid.';
  return error.name === 'Error' ? reasonOf(error) : `${error.name}: ${error.message}`;
};

/** What the client adds to an error that was caused by a response, even by one that it could not parse. */
const WithMetadata = z.object({
  $metadata: z.object({
    httpStatusCode: z.int(),
    requestId: z.string().regex(REQUEST_ID).catch('none'),
  }),
});

/**
 * Sends the current trace with every request, and records a span for each attempt. Runs after the request is signed: a proxy
 * that adds a span replaces the header, which must not break the signature.
 */
const traceRequests = (client: S3Client, bucket: string): void => {
  client.middlewareStack.add(
    (next, { commandName = 'Request' }) =>
      async (sent) => {
        const operation = commandName.replace(/Command$/, '');
        const attributes = { 'rpc.system.name': 'aws-api', 'rpc.method': `S3/${operation}` };
        const span = tracing.start(() => ({
          name: `S3 ${operation}`,
          kind: 'client',
          attributes: { ...attributes, 'aws.s3.bucket': bucket },
        }));
        const send = () => {
          // The request of an S3 client is one of HTTP, which its middleware does not know.
          const { headers } = sent.request as { headers: Record<string, string> };
          Object.assign(headers, tracing.headers());
          return next(sent);
        };
        return endWith(span, span ? span.run(send) : send());
      },
    { step: 'deserialize', priority: 'low', name: 'traceRequests' },
  );
};
