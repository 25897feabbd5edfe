import { openPackageStore } from '../adapters/package-store/open-package-store.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import { readConfig } from '../config/config.ts';
import { Problem } from '../lib/problems.ts';

/**
 * Opens the store of APP_STORE and runs `work`. Unlike callers of the service, the operator can fix the store: errors
 * include the reason.
 */
export const withAppStore = async <T>(work: (store: PackageStore) => Promise<T>): Promise<T> => {
  const store = await openPackageStore(readConfig(process.env).appStore);
  return work(store).catch((error: unknown) => {
    throw error instanceof Problem && error.code === 'package-store-unavailable' ? withReason(error) : error;
  });
};

const withReason = (problem: Problem): Problem => {
  const reason = problem.cause instanceof Error ? problem.cause.message : 'unknown reason';
  const line = reason.replace(/\s+/g, ' ').trim();
  return new Problem(problem.code, {
    detail: `APP_STORE: the package store cannot be used (${line}).`,
    cause: problem.cause,
  });
};
