import semver from 'semver';
import { Problem } from './problems.ts';

export type PackageName = { slug: string; version: string };

/** Keeps a file name with a 64-character slug and its suffixes below the 255 bytes of common file systems. */
const VERSION_LENGTH = 128;
const SLUG_FORM = /^[a-z0-9_-]{1,64}$/;

/** Unambiguous: slugs have no dot and major versions no hyphen, so the last hyphen before a dot separates them. */
const FILE_NAME_FORM = /^([a-z0-9_-]{1,64})-(.+)\.tgz$/;

export const isSlug = (text: string): boolean => SLUG_FORM.test(text);

/** A semantic version in canonical form: no `v`, no spaces; pre-release and build parts are allowed. */
export const isVersion = (text: string): boolean => {
  const parsed = text.length <= VERSION_LENGTH ? semver.parse(text) : null;
  return parsed !== null && text === [parsed.version, parsed.build.join('.')].filter(Boolean).join('+');
};

/** Returns `{slug}-{version}.tgz`, or null if the slug or the version is invalid. */
export const packageFileName = (slug: string, version: string): string | null =>
  isSlug(slug) && isVersion(version) ? `${slug}-${version}.tgz` : null;

/** Like `packageFileName`. @throws Problem `invalid-package` */
export const requirePackageFileName = (slug: string, version: string): string => {
  const name = packageFileName(slug, version);
  if (name !== null) return name;
  throw new Problem('invalid-package', {
    detail: `Slug ${slug} and version ${version} cannot name a package.`,
  });
};

/** The reverse of `packageFileName`; null for any other file. */
export const parsePackageFileName = (name: string): PackageName | null => {
  const [, slug, version] = FILE_NAME_FORM.exec(name) ?? [];
  return slug !== undefined && version !== undefined && isVersion(version) ? { slug, version } : null;
};
