import { Readable } from 'node:stream';
import type S3rver from '@20minutes/s3rver';
import type { Context, Middleware } from '@20minutes/s3rver';
import S3Error from '@20minutes/s3rver/lib/models/error.js';

/** What the server makes of `If-None-Match: *`: obeys it as S3 does, does as if it were not there, or refuses it. */
export type Condition = 'obeyed' | 'ignored' | 'unknown';

/**
 * How it fails. `hangs` takes a request and never answers; `stalls` and `breaks` send half of an object's bytes and then
 * nothing more, or close the connection; the others are codes of S3.
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
  /** Which requests the fault strikes; all, if absent. */
  strikes?: (method: string, path: string) => boolean;
  /** Each request is answered only after this. */
  before?: (method: string, path: string) => Promise<void>;
};

/** Of codes that the package does not know. */
const STATUS: Record<string, { status: number }> = { ConditionalRequestConflict: { status: 409 } };

/** Does what the conduct tells of faults, and writes down which requests they struck. */
export const misbehave =
  (conduct: Conduct, struck: string[]): Middleware =>
  async (context, next) => {
    const { fault, strikes = () => true } = conduct;
    if (fault === null || !strikes(context.method, context.path)) return next();
    struck.push(`${context.method} ${context.path}`);
    if (fault === 'hangs') {
      context.respond = false;
    } else if (fault === 'stalls' || fault === 'breaks') {
      await next();
      await sendHalf(context, fault);
    } else {
      throw Object.assign(new S3Error(fault, `The server has been told to answer ${fault}.`), STATUS[fault]);
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

/** Knows the condition, which the package does not, and lets one publisher after the other ask for it. */
export const heedConditions = ({ store }: S3rver, conduct: Conduct): Middleware => {
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
