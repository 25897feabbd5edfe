import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './instant.ts';

/**
 * A package version that was taken from the store and checked. The app need not exist yet; the newest row of a
 * slug is the one to load. Rows stay, so that any of them can be loaded again without the store.
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
    /** The checked content of its `app.yaml`. */
    manifest: p.json<Record<string, unknown>>().columnType('json'),
    fetchedAt: instant(),
    /** Email address of who fetched it. */
    fetchedBy: p.string().length(254).default(''),
  },
});

export class FetchedPackage extends FetchedPackageSchema.class {}
FetchedPackageSchema.setClass(FetchedPackage);
