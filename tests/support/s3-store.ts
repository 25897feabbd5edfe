import {
  createS3PackageStore,
  type S3StoreLimits,
} from '../../src/adapters/package-store/s3-package-store.ts';
import { AWS_ENVIRONMENT } from './environment.ts';
import { BUCKET } from './s3-server.ts';

/** Sets credentials in the environment. A test that sets others must call this again to restore the defaults. */
export const setCredentials = (keys: Record<string, string> = {}): void => {
  Object.assign(process.env, { ...AWS_ENVIRONMENT, ...keys });
};

/** Long enough that nothing times out on a busy machine. */
const PATIENCE: S3StoreLimits = { connectMs: 3000, silenceMs: 20_000, maxPages: 10_000, settleMs: 1000 };

export const storeOn = (
  { endpoint }: { endpoint: string | undefined },
  prefix = '',
  { bucket = BUCKET, ...patience }: Partial<S3StoreLimits> & { bucket?: string } = {},
) =>
  createS3PackageStore(
    { bucket, prefix, endpoint, region: 'us-east-1', pathStyle: true },
    { ...PATIENCE, ...patience },
  );
