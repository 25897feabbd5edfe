import semver from 'semver';
import { openPackageStore } from '../adapters/package-store/open-package-store.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import { readConfig } from '../config/config.ts';
import { isSlug, type PackageName } from '../lib/package-name.ts';
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

/** Lists the packages of a store, or of one app, sorted by slug, newest version first. */
export const listPackages = async (store: PackageStore, slug: string | undefined): Promise<PackageName[]> => {
  const packages = slug === undefined ? await store.list() : await packagesOf(store, slug);
  return packages.sort(bySlugThenNewest);
};

const packagesOf = async (store: PackageStore, slug: string): Promise<PackageName[]> => {
  const versions = isSlug(slug) ? await store.versions(slug) : [];
  return versions.map((version) => ({ slug, version }));
};

/** Slugs are ASCII: no locale-aware comparison is needed. */
const bySlugThenNewest = (a: PackageName, b: PackageName): number => {
  if (a.slug !== b.slug) return a.slug < b.slug ? -1 : 1;
  return semver.compareBuild(b.version, a.version);
};

/** One line per package, versions aligned. */
export const formatTable = (packages: readonly PackageName[]): string => {
  if (packages.length === 0) return 'There are no packages.\n';
  const width = Math.max(...packages.map(({ slug }) => slug.length));
  return packages.map(({ slug, version }) => `${slug.padEnd(width)}  ${version}\n`).join('');
};
