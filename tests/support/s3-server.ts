import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import S3rver, { type Middleware } from '@20minutes/s3rver';
import { type Conduct, injectFaults, supportConditions } from './s3-server-conduct.ts';
import { listByPages } from './s3-server-lists.ts';
import { makeScratchFolder } from './scratch-folder.ts';

export { KEYS } from './aws-environment.ts';
export const BUCKET = 'packages';

export type S3Server = Awaited<ReturnType<typeof startS3Server>>;

/** An S3 server on loopback, by default as strict as S3. Disposing it stops the server and deletes its data. */
export const startS3Server = async (conduct: Conduct = { condition: 'obeyed', fault: null }) => {
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
      supportConditions(server, conduct),
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
