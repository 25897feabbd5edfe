/** Types for the package `@20minutes/s3rver`, which has none, as far as the tests use it. */
declare module '@20minutes/s3rver' {
  import type { IncomingMessage, Server, ServerResponse } from 'node:http';
  import type { Readable } from 'node:stream';

  export type Store = {
    existsObject(bucket: string, key: string): Promise<boolean>;
    listObjects(bucket: string, options: unknown): Promise<{ isTruncated: boolean }>;
    putContent(path: string, content: Readable | Buffer): Promise<[sizeBytes: number, md5: string]>;
    putMetadata(): Promise<void>;
  };
  export type Context = {
    req: IncomingMessage;
    res: ServerResponse;
    method: string;
    path: string;
    query: Record<string, string>;
    headers: Record<string, string | undefined>;
    params: { bucket: string };
    state: { vhost?: boolean };
    store: Store;
    mountPath?: string;
    /** An object's bytes, or the data of an XML response. */
    body: unknown;
    respond: boolean;
    status: number;
  };
  export type Middleware = (context: Context, next: () => Promise<void>) => Promise<void>;

  /** The response to ListObjectsV2. */
  export type Page = { Contents: { Key: string }[]; IsTruncated: boolean; NextContinuationToken?: string };

  export default class S3rver {
    constructor(options: {
      address: string;
      port: number;
      silent: boolean;
      directory: string;
      vhostBuckets: boolean;
      configureBuckets: { name: string }[];
    });
    middleware: Middleware[];
    httpServer: Server;
    logger: { silent: boolean };
    store: Store;
    run(): Promise<{ address: string; port: number }>;
    close(): Promise<void>;
  }
}

declare module '@20minutes/s3rver/lib/models/error.js' {
  export default class S3Error extends Error {
    constructor(code: string, message: string);
  }
}

declare module '@20minutes/s3rver/lib/middleware/authentication.js' {
  import type { Middleware } from '@20minutes/s3rver';

  export default function createAuthentication(): Middleware;
}
