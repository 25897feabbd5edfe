import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './instant.ts';

/** The package version of a slug that was checked last and waits to be loaded. The app need not exist yet. */
export const FetchedPackageSchema = defineEntity({
  name: 'FetchedPackage',
  tableName: 'fetched_packages',
  properties: {
    slug: p.string().length(64).primary(),
    version: p.string().length(128),
    sha256: p.string().length(64),
    sizeBytes: p.bigint('number'),
    /** The checked content of its `app.yaml`. */
    manifest: p.json<Record<string, unknown>>().columnType('json'),
    fetchedAt: instant(),
  },
});

export class FetchedPackage extends FetchedPackageSchema.class {}
FetchedPackageSchema.setClass(FetchedPackage);
