import type { S3StorePatience } from '../../src/adapters/s3-package-store.ts';
import { createS3PackageStore } from '../../src/adapters/s3-package-store.ts';
import { BUCKET, KEYS } from './s3-server.ts';

/** The AWS client finds keys in the environment, before it looks for them where a test must not. */
export const provideKeys = (keys: Record<string, string> = KEYS): void => {
  Object.assign(process.env, { AWS_EC2_METADATA_DISABLED: 'true', ...keys });
};

/** Long enough for a busy machine, where nothing is to fail. */
const PATIENCE: S3StorePatience = { connectMs: 3000, silenceMs: 20_000, maxPages: 10_000, settleMs: 1000 };

export const storeOn = (
  { endpoint }: { endpoint: string | undefined },
  prefix = '',
  { bucket = BUCKET, ...patience }: Partial<S3StorePatience> & { bucket?: string } = {},
) =>
  createS3PackageStore(
    { bucket, prefix, endpoint, region: 'us-east-1', pathStyle: true },
    { ...PATIENCE, ...patience },
  );
