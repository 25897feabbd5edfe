/** Types for the package `oidc-provider`, which has none, as far as the tests use it. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  type Interaction = {
    uid: string;
    prompt: { name: string; details: Record<string, unknown> };
    params: Record<string, unknown>;
    session?: { accountId: string };
    grantId?: string;
  };

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Record<string, unknown>,
    ): Promise<void>;
    Grant: new (properties: {
      accountId: string;
      clientId: string;
    }) => {
      addOIDCScope(scope: string): void;
      save(): Promise<string>;
    };
  }
}

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
