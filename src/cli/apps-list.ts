import semver from 'semver';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import { isSlug, type PackageName } from '../lib/package-name.ts';

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

export const formatJson = (packages: readonly PackageName[]): string =>
  `${JSON.stringify(packages, null, 2)}\n`;
