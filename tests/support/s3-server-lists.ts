import type S3rver from '@20minutes/s3rver';
import type { Context, Middleware, Page } from '@20minutes/s3rver';
import createAuthentication from '@20minutes/s3rver/lib/middleware/authentication.js';

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
