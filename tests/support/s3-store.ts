import { createPackageStore } from '../../src/adapters/package-store/package-store.ts';
import { openBucket, type S3Limits } from '../../src/adapters/package-store/s3-bucket.ts';
import { AWS_ENVIRONMENT } from './environment.ts';
import { BUCKET } from './s3-server.ts';

/** Sets credentials in the environment. A test that sets others must call this again to restore the defaults. */
export const setCredentials = (keys: Record<string, string> = {}): void => {
  Object.assign(process.env, { ...AWS_ENVIRONMENT, ...keys });
};

/** Long enough that nothing times out on a busy machine. */
const PATIENCE: S3Limits = { connectMs: 3000, silenceMs: 20_000, maxPages: 10_000 };

export const storeOn = (
  { endpoint }: { endpoint: string | undefined },
  prefix = '',
  { bucket = BUCKET, settleMs, ...patience }: Partial<S3Limits> & { bucket?: string; settleMs?: number } = {},
) => {
  const location = { bucket, prefix, endpoint, region: 'us-east-1', pathStyle: true };
  return createPackageStore(openBucket(location, { ...PATIENCE, ...patience }), settleMs);
};
