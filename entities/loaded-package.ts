import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { instant } from './columns.ts';
import { FetchedPackage } from './fetched-package.ts';

/** The load of a package into an app. The newest row of an app is the version that it runs. */
export const LoadedPackageSchema = defineEntity({
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

export class LoadedPackage extends LoadedPackageSchema.class {}
LoadedPackageSchema.setClass(LoadedPackage);
