import { defineEntity, p } from '@mikro-orm/core';
import { Client } from './client.ts';
import { index, instant, uniqueIndex } from './columns.ts';
import { SsoConnection } from './sso.ts';
import { User } from './user.ts';

/** An API token. Only its SHA-256 is stored. */
export const ApiToken = defineEntity({
  name: 'ApiToken',
  tableName: 'api_tokens',
  indexes: [
    { properties: ['user', 'createdAt'] },
    uniqueIndex('api_tokens_user_id_name', `api_tokens (user_id, name) where name <> ''`),
    index('api_tokens_client_id_index', 'api_tokens (client_id) where client_id is not null'),
    index('api_tokens_connection_id_index', 'api_tokens (connection_id) where connection_id is not null'),
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).deleteRule('cascade').updateRule('no action'),
    /** SHA-256 of the token, 64 hexadecimal characters. */
    digest: p.string().length(64).unique().hidden(),
    /** Empty for tokens that a login creates. */
    name: p.string().length(100).default(''),
    createdAt: instant(),
    lastUsed: instant(),
    /** Network address of the last use. */
    lastAddress: p.string().length(45).default(''),
    /** The end of a named token, or of a token that was refreshed. */
    expiresAt: instant().nullable(),
    /** When the user last entered a password or a code for it; null for named tokens. */
    authenticatedAt: instant().nullable(),
    /** The client to which the token is confined. */
    client: () => p.manyToOne(Client).nullable().deleteRule('cascade').updateRule('no action'),
    /** What it may do, such as `users:read`; null: all. */
    scopes: p.array().columnType('text[]').nullable(),
    /** The networks from which it is accepted, in CIDR notation; null: any. */
    networks: p.array().columnType('text[]').nullable(),
    /** The connection of the session in which the token was made: the token is confined to the same client. */
    connection: () => p.manyToOne(SsoConnection).nullable().deleteRule('cascade').updateRule('no action'),
    /** The key by which the token that a refresh issued derives from this one. */
    replacement: p.blob().nullable().hidden(),
    /** The user who made it for a service account. No foreign key: see `AppGrant.grantedBy`. */
    createdBy: p.integer().nullable(),
    /** How many days before its end the last mail about it was sent. */
    remindedDays: p.smallint().nullable(),
  },
});

/** What a token was used for. */
export const TokenUse = defineEntity({
  name: 'TokenUse',
  tableName: 'token_uses',
  properties: {
    token: () => p.manyToOne(ApiToken).primary().deleteRule('cascade').updateRule('no action'),
    /** `users.list`, or the method and path of a request without a procedure. */
    procedure: p.string().length(100).primary(),
    /** What a token needs for it. */
    scopes: p.array().columnType('text[]'),
    /** To the hour: the first use of that hour. */
    lastUsedAt: instant(),
  },
});

/**
 * A program with roles of its own. Its row of `users` gives it the id and the label that records name; that row is inactive, so that nothing
 * that concerns people concerns it.
 */
export const ServiceAccount = defineEntity({
  name: 'ServiceAccount',
  tableName: 'service_accounts',
  indexes: [uniqueIndex('service_accounts_name', 'service_accounts (coalesce(client_id, 0), lower(name))')],
  properties: {
    user: () => p.oneToOne(User).owner().primary().deleteRule('cascade').updateRule('no action'),
    /** Null: the installation. */
    client: () => p.manyToOne(Client).nullable().deleteRule('cascade').updateRule('no action'),
    name: p.string().length(100),
    description: p.string().length(500).default(''),
    /** Names of roles: in the client, or in all clients. */
    roles: p.array().columnType('text[]').defaultRaw(`'{}'`),
    /** What all of its tokens may do at most; null: all that its roles allow. */
    scopes: p.array().columnType('text[]').nullable(),
    isActive: p.boolean().default(true),
    createdAt: instant(),
    createdBy: p.integer().nullable(),
  },
});

/** A browser session. Only the SHA-256 of its cookie is stored. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  indexes: [index('sessions_by_connection', 'sessions (connection_id, sid) where connection_id is not null')],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    /** SHA-256 of the cookie's value, 64 hexadecimal characters. */
    digest: p.string().length(64).unique().hidden(),
    createdAt: instant(),
    /** When the user last entered the password, or a code. */
    authenticatedAt: instant(),
    /** How the user has logged in: method names of RFC 8176, such as `pwd`, `otp` and `mfa`. */
    methods: p.array().columnType('text[]').defaultRaw(`'{pwd}'`),
    /** End of the absolute lifetime, by the clock of the database. An idle session ends earlier. */
    expiresAt: instant(),
    lastUsed: instant(),
    /** Network address of the last use. */
    lastAddress: p.string().length(45).default(''),
    userAgent: p.string().length(255).default(''),
    /** The connection by which the user logged in; null after a login with a password. */
    connection: () => p.manyToOne(SsoConnection).nullable().deleteRule('cascade').updateRule('no action'),
    /** The session at the identity provider. Its logout ends this session. */
    sid: p.string().length(255).nullable(),
  },
});

/**
 * A mailed single-use link that sets a password. The row holds no secret: the link is signed with the key of the service.
 * Any change of the password deletes the row.
 */
export const PasswordLink = defineEntity({
  name: 'PasswordLink',
  tableName: 'password_links',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    createdAt: instant(),
    expiresAt: instant().index(),
  },
});
