import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { instant } from './columns.ts';

/**
 * A package version that was downloaded from the store and verified. The app may not exist yet. The newest row of a slug
 * is loaded next. Rows are kept, so that an older version can be loaded again without the store.
 */
export const FetchedPackage = defineEntity({
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

/** The load of a package into an app. The newest row of an app is the version that it runs. */
export const LoadedPackage = defineEntity({
  name: 'LoadedPackage',
  tableName: 'loaded_packages',
  indexes: [{ properties: ['app', 'id'] }],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    app: () => p.manyToOne(App).deleteRule('cascade').updateRule('no action'),
    package: () => p.manyToOne(FetchedPackage).index().deleteRule('restrict').updateRule('no action'),
    loadedAt: instant(),
    /** Email address of the user who loaded it. */
    loadedBy: p.string().length(254).default(''),
    isRollback: p.boolean().default(false),
  },
});
