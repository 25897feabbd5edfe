import type { S3StorePatience } from '../../src/adapters/package-store/s3-package-store.ts';
import { createS3PackageStore } from '../../src/adapters/package-store/s3-package-store.ts';
import { AWS_ENVIRONMENT } from './aws-environment.ts';
import { BUCKET } from './s3-server.ts';

/** Those that the server knows are there in every run; whoever provides others has to provide them again. */
export const provideKeys = (keys: Record<string, string> = {}): void => {
  Object.assign(process.env, { ...AWS_ENVIRONMENT, ...keys });
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
