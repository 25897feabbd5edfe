import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import S3rver, { type Middleware } from '@20minutes/s3rver';
import { type Conduct, heedConditions, misbehave } from './s3-server-conduct.ts';
import { listByPages } from './s3-server-lists.ts';
import { makeScratchFolder } from './scratch-folder.ts';

export { KEYS } from './aws-environment.ts';
export const BUCKET = 'packages';

export type S3Server = Awaited<ReturnType<typeof startS3Server>>;

/** An S3 server on loopback, as strict as S3 itself until told otherwise. Disposing of it closes and empties it. */
export const startS3Server = async (conduct: Conduct = { condition: 'obeyed', fault: null }) => {
  const folder = await makeScratchFolder();
  const bucketDir = folder.join(BUCKET);
  await mkdir(bucketDir);
  const options = { address: '127.0.0.1', silent: true, directory: folder.path, vhostBuckets: false };
  const requests: string[] = [];
  const struck: string[] = [];

  const run = async (port: number) => {
    const server = new S3rver({ ...options, port, configureBuckets: [] });
    // Or it would complain of requests that a stop has cut off.
    server.logger.silent = true;
    putWhole(server);
    const record: Middleware = async (context, next) => {
      requests.push(`${context.method} ${context.req.url}`);
      await conduct.before?.(context.method, context.path);
      return next();
    };
    // Before the router, the last one: behind what writes errors as XML.
    const ours = [record, misbehave(conduct, struck), heedConditions(server, conduct), listByPages(server)];
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
    /** Those that the fault has struck. */
    struck,
    /** Where an object's bytes lie on disk. */
    fileOf: (key: string): string => join(bucketDir, `${key}._S3rver_object`),
    keys: async (): Promise<string[]> => {
      const names = await readdir(bucketDir, { recursive: true });
      return names.flatMap((name) => /^(.*)\._S3rver_object$/.exec(name)?.[1] ?? []).sort();
    },
    stop,
    /** Listens again where it did, with what it had. */
    restart: async (): Promise<void> => {
      running ??= await run(port);
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await stop();
      await folder[Symbol.asyncDispose]();
    },
  };
};

/** An object is there whole or not at all, as in S3; the package writes it where readers see it grow. */
const putWhole = ({ store }: S3rver): void => {
  const put = store.putContent.bind(store);
  let count = 0;
  store.putContent = async (path, content) => {
    count += 1;
    const draft = `${path}.${count}.draft`;
    const written = await put(draft, content);
    await rename(draft, path);
    return written;
  };
  // The content type and the like, which readers would find half written, too.
  store.putMetadata = async () => {};
};
