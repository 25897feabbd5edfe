import { defineEntity, p } from '@mikro-orm/core';
import { Client } from './client.ts';
import { index, instant, jsonSchema, roleKeys } from './columns.ts';
import { User } from './user.ts';

/** The package last loaded into an app; `{}` before the first load. Times are ISO 8601. */
type PackageInfo =
  | Record<string, never>
  | {
      version: string;
      fetched_at: string;
      loaded_at: string;
      sha256: string;
      stacks: { id: string; slug: string; label: string }[];
    };

/** A role in an app, which only the app interprets. */
export type AppRole = { key: string; label: string; description: string };

/** A data application of one client. */
export const App = defineEntity({
  name: 'App',
  tableName: 'apps',
  properties: {
    id: p.string().length(8).primary().check(`id ~ '^[A-Za-z0-9]{8}$'`),
    client: () => p.manyToOne(Client).index().deleteRule('restrict').updateRule('no action'),
    slug: p.string().length(64).unique().check(`slug ~ '^[a-z0-9_-]{1,64}$'`),
    label: p.string().length(255),
    description: p.text().default(''),
    helpHtml: p.text().default(''),
    footerHtml: p.text().default(''),
    showHelp: p.boolean().default(false),
    showFooter: p.boolean().default(false),
    /** Where the app is opened; empty if the platform has no address for it. */
    launchUrl: p.string().length(2048).default(''),
    /** Whether maintenance runs or is planned, or has run until its end: `src/services/apps/maintenance.ts` decides by the clock. */
    inMaintenance: p.boolean().default(false),
    maintenanceFrom: instant().nullable(),
    maintenanceUntil: instant().nullable(),
    maintenanceMessage: p.text().default(''),
    /** Whether it heeds `read_only` in tickets, so that others may look at it as a person. */
    viewAs: p.boolean().default(false),
    /** Whether members of the client who do not have it may ask for it. */
    isRequestable: p.boolean().default(false),
    /** JSON Schema of the data permissions, from the package; null: any are allowed. */
    attributes: jsonSchema(),
    /** The roles that the package declares, which grants and groups give. */
    appRoles: p.json<AppRole[]>().columnType('json').defaultRaw(`'[]'`),
    packageInfo: p.json<PackageInfo>().columnType('json').defaultRaw(`'{}'`),
    createdAt: instant(),
    /** When a member first opened it from Steward; null before, and in rows from before this was recorded. */
    firstOpenedAt: instant().nullable(),
  },
});

/** A page group of an app. Saved filters belong to a stack. */
export const Stack = defineEntity({
  name: 'Stack',
  tableName: 'stacks',
  uniques: [{ properties: ['app', 'slug'] }],
  properties: {
    id: p.string().length(8).primary().check(`id ~ '^[0-9a-f]{8}$'`),
    app: () => p.manyToOne(App).deleteRule('cascade').updateRule('no action'),
    slug: p.string().length(64),
    label: p.string().length(255),
    /** False if the loaded package no longer has it: saved filters are kept, new ones are refused. */
    isOffered: p.boolean().default(true),
  },
});

/** Gives a user access to an app, until it expires. */
export const AppGrant = defineEntity({
  name: 'AppGrant',
  tableName: 'app_grants',
  indexes: [
    index('app_grants_by_app', 'app_grants (app_id, user_id) include (expires_at)'),
    index('app_grants_expiring', 'app_grants (expires_at) where expires_at is not null'),
    index('app_grants_unreminded', 'app_grants (expires_at) where reminded_for is distinct from expires_at'),
  ],
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').updateRule('no action'),
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
    /**
     * The user who granted it; null in old rows. No foreign key: its check would lock that user's row after the rows of the changed users.
     */
    grantedBy: p.integer().nullable(),
    grantedAt: instant().nullable(),
    /** The grant counts until then; null if it does not end. */
    expiresAt: instant().nullable(),
    reason: p.string().length(500).default(''),
    /** Data permissions of the person in this app alone; null: none. */
    attributes: p.json<Record<string, unknown>>().columnType('json').nullable(),
    appRoles: roleKeys(),
    /** The `expiresAt` of which the person was reminded. After a change of `expiresAt`, they are reminded again. */
    remindedFor: instant().nullable(),
  },
});

/**
 * A package version that was downloaded from the store and verified. The app may not exist yet. The next load applies the newest row of a
 * slug. Older rows are kept, so that an older version can be loaded again without the store.
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
