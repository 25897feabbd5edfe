import { Readable } from 'node:stream';
import type S3rver from '@20minutes/s3rver';
import type { Context, Middleware } from '@20minutes/s3rver';
import S3Error from '@20minutes/s3rver/lib/models/error.js';

/** How the server handles `If-None-Match: *`: obeys it like S3, ignores it, or refuses it as not implemented. */
export type Condition = 'obeyed' | 'ignored' | 'unknown';

/**
 * How it fails. `hangs` never responds; `stalls` and `breaks` send half of an object, then nothing more or the end of the
 * connection; the others are error codes of S3.
 */
export type Fault =
  | 'hangs'
  | 'stalls'
  | 'breaks'
  | 'AccessDenied'
  | 'ConditionalRequestConflict'
  | 'InternalError';

export type Conduct = {
  condition: Condition;
  fault: Fault | null;
  /** Selects the requests that fail. Default: all. */
  affects?: (method: string, path: string) => boolean;
  /** Runs before each response. */
  before?: (method: string, path: string) => Promise<void>;
};

/** Statuses of error codes that the package does not know. */
const STATUS: Record<string, { status: number }> = { ConditionalRequestConflict: { status: 409 } };

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
      throw Object.assign(new S3Error(fault, `The test configured the fault ${fault}.`), STATUS[fault]);
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
export const supportConditions = ({ store }: S3rver, conduct: Conduct): Middleware => {
  const lastRequests = new Map<string, Promise<void>>();

  return async (context, next) => {
    const isConditional = context.method === 'PUT' && context.headers['if-none-match'] === '*';
    if (!isConditional || conduct.condition === 'ignored') return next();
    if (conduct.condition === 'unknown') {
      throw new S3Error(
        'NotImplemented',
        'A header you provided implies functionality that is not implemented.',
      );
    }
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
