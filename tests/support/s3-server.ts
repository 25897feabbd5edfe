import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import S3rver, { type Context, type Middleware, type Page } from '@20minutes/s3rver';
import createAuthentication from '@20minutes/s3rver/lib/middleware/authentication.js';
import S3Error from '@20minutes/s3rver/lib/models/error.js';
import { createPackageStore } from '../../src/adapters/package-store/package-store.ts';
import { openBucket, type S3Limits } from '../../src/adapters/package-store/s3-bucket.ts';
import { AWS_ENVIRONMENT } from './environment.ts';
import { makeScratchFolder } from './files.ts';

export const BUCKET = 'packages';

export type S3Server = Awaited<ReturnType<typeof startS3Server>>;

/** An S3 server on loopback, by default as strict as S3. Disposing it stops the server and deletes its data. */
export const startS3Server = async (conduct: Conduct = { fault: null }) => {
  const folder = await makeScratchFolder();
  const bucketDir = folder.join(BUCKET);
  await mkdir(bucketDir);
  const options = { address: '127.0.0.1', silent: true, directory: folder.path, vhostBuckets: false };
  const requests: string[] = [];
  const failedRequests: string[] = [];

  const run = async (port: number) => {
    const server = new S3rver({ ...options, port, configureBuckets: [] });
    // Otherwise it logs errors of requests that a stop has aborted.
    server.logger.silent = true;
    makeWritesAtomic(server);
    const record: Middleware = async (context, next) => {
      requests.push(`${context.method} ${context.req.url}`);
      await conduct.before?.(context.method, context.path);
      return next();
    };
    // Before the router, which is the last one, and after the middleware that writes errors as XML.
    const ours = [
      record,
      injectFaults(conduct, failedRequests),
      supportConditions(server),
      acceptAborts,
      listByPages(server),
    ];
    server.middleware.splice(-1, 0, ...ours);
    const address = await server.run();
    return { server, port: address.port };
  };
  const close = async (server: S3rver): Promise<void> => {
    const closed = server.close();
    server.httpServer.closeAllConnections();
    await closed;
  };

  let running: Awaited<ReturnType<typeof run>> | null = await run(0);
  const { port } = running;
  const stop = async (): Promise<void> => {
    if (running) await close(running.server);
    running = null;
  };

  return {
    endpoint: `http://127.0.0.1:${port}`,
    /** May be changed at any time. */
    conduct,
    /** Every request since the start, as `GET /bucket/key?query`. */
    requests,
    /** The requests that a fault has affected. */
    failedRequests,
    /** The path of an object's bytes on disk. */
    fileOf: (key: string): string => join(bucketDir, `${key}._S3rver_object`),
    keys: async (): Promise<string[]> => {
      const names = await readdir(bucketDir, { recursive: true });
      return names.flatMap((name) => /^(.*)\._S3rver_object$/.exec(name)?.[1] ?? []).sort();
    },
    stop,
    /** Listens again on the same port, with the same objects. */
    restart: async (): Promise<void> => {
      running ??= await run(port);
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await stop();
      await folder[Symbol.asyncDispose]();
    },
  };
};

/** Acknowledges that a multipart upload is aborted, which the package does not know. Its parts are not objects. */
const acceptAborts: Middleware = async (context, next) => {
  if (context.method !== 'DELETE' || context.query.uploadId === undefined) return next();
  context.status = 204;
};

/** Makes writes atomic as in S3. The package itself lets readers see an object while it is written. */
const makeWritesAtomic = ({ store }: S3rver): void => {
  const put = store.putContent.bind(store);
  let count = 0;
  store.putContent = async (path, content) => {
    count += 1;
    const draft = `${path}.${count}.draft`;
    const written = await put(draft, content);
    await rename(draft, path);
    return written;
  };
  // Metadata such as the content type, which is not written atomically either.
  store.putMetadata = async () => {};
};

/**
 * How it fails. `hangs` never responds; `stalls` and `breaks` send half of an object, then nothing more or the end of the
 * connection; the others are error codes of S3.
 */
export type Fault = 'hangs' | 'stalls' | 'breaks' | 'AccessDenied' | 'InternalError';

export type Conduct = {
  fault: Fault | null;
  /** Selects the requests that fail. Default: all. */
  affects?: (method: string, path: string) => boolean;
  /** Runs before each response. */
  before?: (method: string, path: string) => Promise<void>;
};

/** Injects the faults, and records the requests that failed. */
export const injectFaults =
  (conduct: Conduct, failedRequests: string[]): Middleware =>
  async (context, next) => {
    const { fault, affects = () => true } = conduct;
    if (fault === null || !affects(context.method, context.path)) return next();
    failedRequests.push(`${context.method} ${context.path}`);
    if (fault === 'hangs') {
      context.respond = false;
    } else if (fault === 'stalls' || fault === 'breaks') {
      await next();
      await sendHalf(context, fault);
    } else {
      throw new S3Error(fault, `The test configured the fault ${fault}.`);
    }
  };

const sendHalf = async (context: Context, fault: 'stalls' | 'breaks'): Promise<void> => {
  if (!(context.body instanceof Readable)) return;
  const bytes = Buffer.concat(await context.body.toArray());
  context.respond = false;
  context.res.writeHead(200, { 'content-length': bytes.length });
  context.res.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => {
    if (fault === 'breaks') context.res.destroy();
  });
};

/** Adds conditional writes, which the package lacks. Those of the same key run one after another. */
export const supportConditions = ({ store }: S3rver): Middleware => {
  const lastRequests = new Map<string, Promise<void>>();

  return async (context, next) => {
    const isConditional = context.method === 'PUT' && context.headers['if-none-match'] === '*';
    if (!isConditional) return next();
    const [, bucket = '', key = ''] = /^\/([^/]+)\/(.+)$/.exec(decodeURIComponent(context.path)) ?? [];
    const request = (lastRequests.get(key) ?? Promise.resolve()).then(async () => {
      if (!(await store.existsObject(bucket, key))) return next();
      throw new S3Error(
        'PreconditionFailed',
        'At least one of the pre-conditions you specified did not hold',
      );
    });
    lastRequests.set(
      key,
      request.catch(() => {}),
    );
    return request;
  };
};

const BUCKET_FORM = /^\/([^/]+)\/$/;
const authenticate = createAuthentication();

/**
 * Lists a bucket as S3 does. This works around two bugs of the package: it verifies the signature of `/bucket/` as if it were
 * `/bucket`, and it encrypts continuation tokens with DES, which OpenSSL no longer supports.
 */
export const listByPages =
  ({ store }: S3rver): Middleware =>
  async (context, next) => {
    const [, bucket] = BUCKET_FORM.exec(context.path) ?? [];
    if (context.method !== 'GET' || bucket === undefined) return next();

    await verify(context, bucket);
    const { 'continuation-token': token, ...query } = context.query;
    context.query = token === undefined ? query : { ...query, 'start-after': decode(token) };

    let isTruncated = false;
    context.store = Object.create(store);
    context.store.listObjects = async (name, options) => {
      const page = await store.listObjects(name, options);
      isTruncated = page.isTruncated;
      return { ...page, isTruncated: false };
    };
    await next();
    if (isTruncated) setNextPage(context);
  };

/** Rewrites the path to the only form that the package verifies correctly, then skips its own verification. */
const verify = async (context: Context, bucket: string): Promise<void> => {
  context.params = { bucket };
  context.state.vhost = true;
  context.mountPath = '/';
  await authenticate(context, async () => {});
  delete context.headers.authorization;
};

const setNextPage = ({ body }: Context): void => {
  const { ListBucketResult: page } = body as { ListBucketResult: Page }; // the package's response to a list request
  page.IsTruncated = true;
  page.NextContinuationToken = encode(page.Contents.at(-1)?.Key ?? '');
};

const encode = (key: string): string => Buffer.from(key).toString('base64');
const decode = (token: string): string => Buffer.from(token, 'base64').toString();

/** Sets credentials in the environment. A test that sets others must call this again to restore the defaults. */
export const setCredentials = (keys: Record<string, string> = {}): void => {
  Object.assign(process.env, { ...AWS_ENVIRONMENT, ...keys });
};

/** Long enough that nothing times out on a busy machine. */
const PATIENCE: S3Limits = { connectMs: 3000, silenceMs: 20_000 };

export const storeOn = (
  { endpoint }: { endpoint: string | undefined },
  prefix = '',
  { bucket = BUCKET, ...patience }: Partial<S3Limits> & { bucket?: string } = {},
) => {
  const location = { bucket, prefix, endpoint, region: 'us-east-1', pathStyle: true };
  return createPackageStore(openBucket(location, { ...PATIENCE, ...patience }));
};
