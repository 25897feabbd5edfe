import semver from 'semver';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import { isSlug, type PackageName } from '../lib/package-name.ts';

/** The packages of a store, or those of one slug, by slug, and their versions from the newest to the oldest. */
export const listPackages = async (store: PackageStore, slug: string | undefined): Promise<PackageName[]> => {
  const packages = slug === undefined ? await store.list() : await packagesOf(store, slug);
  return packages.sort(bySlugThenNewest);
};

const packagesOf = async (store: PackageStore, slug: string): Promise<PackageName[]> => {
  const versions = isSlug(slug) ? await store.versions(slug) : [];
  return versions.map((version) => ({ slug, version }));
};

/** Slugs are ASCII: they sort alike everywhere. */
const bySlugThenNewest = (a: PackageName, b: PackageName): number => {
  if (a.slug !== b.slug) return a.slug < b.slug ? -1 : 1;
  return semver.compareBuild(b.version, a.version);
};

/** A line for each package, the versions under each other. */
export const formatTable = (packages: readonly PackageName[]): string => {
  if (packages.length === 0) return 'There are no packages.\n';
  const width = Math.max(...packages.map(({ slug }) => slug.length));
  return packages.map(({ slug, version }) => `${slug.padEnd(width)}  ${version}\n`).join('');
};

export const formatJson = (packages: readonly PackageName[]): string =>
  `${JSON.stringify(packages, null, 2)}\n`;
