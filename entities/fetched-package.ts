import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/**
 * A package version that was downloaded from the store and verified. The app may not exist yet. The newest row of a slug
 * is loaded next. Rows are kept, so that an older version can be loaded again without the store.
 */
export const FetchedPackageSchema = defineEntity({
  name: 'FetchedPackage',
  tableName: 'fetched_packages',
  indexes: [{ properties: ['slug', 'id'] }],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    slug: p.string().length(64),
    version: p.string().length(128),
    sha256: p.string().length(64),
    sizeBytes: p.bigint('number'),
    /** The validated content of `app.yaml`. */
    manifest: p.json<Record<string, unknown>>().columnType('json'),
    fetchedAt: instant(),
    /** Email address of the user who fetched it. */
    fetchedBy: p.string().length(254).default(''),
  },
});

export class FetchedPackage extends FetchedPackageSchema.class {}
FetchedPackageSchema.setClass(FetchedPackage);
