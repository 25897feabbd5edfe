import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { index, instant, jsonObject } from './columns.ts';
import { User } from './user.ts';

/** A link that opens an app without a login, for one user or for anyone who has it. */
export const AccessView = defineEntity({
  name: 'AccessView',
  tableName: 'access_views',
  checks: [
    {
      name: 'access_views_one_time_check',
      expression: 'not is_one_time or (allowed_uses = 1 and expires_at is not null)',
    },
  ],
  indexes: [
    { properties: ['app', 'id'] },
    index('access_views_one_time', 'access_views (expires_at) where is_one_time'),
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    key: p.string().length(64).unique(),
    app: () => p.manyToOne(App).deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).nullable().index().deleteRule('cascade').updateRule('no action'),
    /** By which admins tell views apart. */
    label: p.string().length(100).default(''),
    isActive: p.boolean().default(true),
    /** A one-time view: not listed, and deleted after it has expired. */
    isOneTime: p.boolean().default(false),
    /**
     * Whether a superuser made it for a superuser or staff. Only such views open apps as a superuser or staff; client admins never see
     * their keys, even if the user loses the role later.
     */
    bySuperuser: p.boolean().default(false),
    /** 0: unlimited. */
    allowedUses: p.integer().default(1).check('allowed_uses >= 0'),
    uses: p.integer().default(0).check('allowed_uses = 0 or uses <= allowed_uses'),
    expiresAt: instant().nullable(),
    /** Null: the data permissions of the user. */
    dataPermissions: p.json<Record<string, unknown>>().columnType('json').nullable(),
    selections: jsonObject(),
    stackSlug: p.string().length(64).nullable(),
    /** Free-form labels by which callers filter views. */
    flags: jsonObject(),
    /** Whether each use gives it a new key. */
    autorotate: p.boolean().default(false),
    /** In CIDR notation. Empty: any network. */
    allowedNetworks: p.array().columnType('text[]').defaultRaw(`'{}'`),
    showHeader: p.boolean().default(true),
    showFooter: p.boolean().default(true),
    languageCode: p.string().length(2).default(''),
    createdAt: instant(),
    modifiedAt: instant(),
  },
});

/** A use of an access view, with the settings of the view at that time. */
export const AccessViewUse = defineEntity({
  name: 'AccessViewUse',
  tableName: 'access_view_uses',
  indexes: [{ properties: ['accessView', 'id'] }],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    accessView: () => p.manyToOne(AccessView).deleteRule('cascade').updateRule('no action'),
    usedAt: instant(),
    /** The key that was used. */
    rawKey: p.string().length(64),
    user: () => p.manyToOne(User).nullable().index().deleteRule('set null').updateRule('no action'),
    dataPermissions: p.json<Record<string, unknown>>().columnType('json').nullable(),
    selections: p.json<Record<string, unknown>>().columnType('json'),
    stackSlug: p.string().length(64).nullable(),
    autorotate: p.boolean(),
    showHeader: p.boolean(),
    showFooter: p.boolean(),
    languageCode: p.string().length(2),
    ipAddress: p.string().length(45),
    userAgent: p.string().length(255),
    /** How the user had logged in, as in `sessions`, and when. Null without a session. */
    methods: p.array().columnType('text[]').nullable(),
    authTime: instant().nullable(),
  },
});

/** The right of a browser that used an access view to open the app until `expires_at`. Only the SHA-256 of its cookie is stored. */
export const EmbedSession = defineEntity({
  name: 'EmbedSession',
  tableName: 'embed_sessions',
  properties: {
    /** SHA-256 of the cookie's value, 64 hexadecimal characters. */
    digest: p.string().length(64).primary().hidden(),
    accessViewUse: () => p.manyToOne(AccessViewUse).index().deleteRule('cascade').updateRule('no action'),
    expiresAt: instant().index(),
  },
});
