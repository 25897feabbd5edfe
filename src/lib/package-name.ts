import semver from 'semver';
import { Problem } from './problems.ts';

export type PackageName = { slug: string; version: string };

/** Keeps a file name with a 64-character slug and its suffixes below the 255 bytes of common file systems. */
const VERSION_LENGTH = 128;
const SLUG_FORM = /^[a-z0-9_-]{1,64}$/;

/** Unambiguous: a slug has no dot and a major version no hyphen, so the last hyphen before a dot parts the two. */
const FILE_NAME_FORM = /^([a-z0-9_-]{1,64})-(.+)\.tgz$/;

export const isSlug = (text: string): boolean => SLUG_FORM.test(text);

/** A semantic version in its canonical spelling: no `v`, no blanks; pre-release and build parts may follow. */
export const isVersion = (text: string): boolean => {
  const parsed = text.length <= VERSION_LENGTH ? semver.parse(text) : null;
  return parsed !== null && text === [parsed.version, parsed.build.join('.')].filter(Boolean).join('+');
};

/** `{slug}-{version}.tgz`, or null when either breaks its rule and so no package can have that name. */
export const packageFileName = (slug: string, version: string): string | null =>
  isSlug(slug) && isVersion(version) ? `${slug}-${version}.tgz` : null;

/** The name under which a package is published. @throws Problem `invalid-package` when it can have none */
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
