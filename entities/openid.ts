import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { index, instant, uniqueIndex } from './columns.ts';
import { Session } from './credentials.ts';
import { User } from './user.ts';

/** How an app logs people in with Steward as its OpenID provider. Its `client_id` is the id of the app. */
export const OpenidApp = defineEntity({
  name: 'OpenidApp',
  tableName: 'openid_apps',
  properties: {
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
    redirectUris: p.array().columnType('text[]'),
    postLogoutRedirectUris: p.array().columnType('text[]').defaultRaw(`'{}'`),
    /** Receives the logouts of the app; empty: the app is not notified. */
    backchannelLogoutUri: p.string().length(2048).default(''),
    /** Whether it runs where it cannot keep a secret: in a browser, or on the person's device. */
    isPublic: p.boolean().default(false),
    /** Whether its requests must have a code challenge (PKCE). Always, if it is public. */
    requiresPkce: p.boolean().default(true),
    /** The claims about people that it may get. */
    claims: p.array().columnType('text[]'),
    /** Whether `sub` differs from app to app. */
    isPairwise: p.boolean().default(false),
    /** The algorithm that signs its ID tokens. */
    signingAlgorithm: p.string().length(5).default('RS256'),
    /** SHA-256 of the secret; null until the first one is made. */
    secretDigest: p.string().length(64).nullable().hidden(),
    /** Of the secret before the last rotation, which works until `previousUntil`. */
    previousDigest: p.string().length(64).nullable().hidden(),
    previousUntil: instant().nullable(),
    createdAt: instant(),
  },
});

/**
 * A login to an app, from a session. It ends with the session, or when the session may not open the app any more. Afterwards the row is the
 * logout to deliver to the app (transactional outbox).
 */
export const OpenidLogin = defineEntity({
  name: 'OpenidLogin',
  tableName: 'openid_logins',
  indexes: [
    uniqueIndex(
      'openid_logins_of_session',
      'openid_logins (session_id, app_id, coalesce(look_id, 0)) where ended_at is null',
    ),
    index('openid_logins_to_check', 'openid_logins (check_at) where ended_at is null'),
    index('openid_logins_orphaned', 'openid_logins (id) where ended_at is null and session_id is null'),
    index('openid_logins_due', 'openid_logins (next_attempt_at) where next_attempt_at is not null'),
    index('openid_logins_ended', 'openid_logins (ended_at) where ended_at is not null'),
    index('openid_logins_by_app', 'openid_logins (app_id, id)'),
    index('openid_logins_by_client', 'openid_logins (client_id) where ended_at is null'),
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    /** No foreign key: the app is notified after its removal, too. */
    appId: p.string().length(8),
    /** The client of the app. No foreign key, like `appId`. */
    clientId: p.integer(),
    /** The person whom the app sees. */
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    /** Null once the session has ended. */
    session: () => p.manyToOne(Session).nullable().index().deleteRule('set null').updateRule('no action'),
    /** The look of the session's owner as the person; null if they are the same. No foreign key. */
    lookId: p.bigint('number').nullable(),
    /** What the app knows the person and this login by. */
    subject: p.string().length(64),
    sid: p.string().length(43),
    /** What the app verifies: that of its settings. */
    signingAlgorithm: p.string().length(5),
    backchannelLogoutUri: p.string().length(2048),
    startedAt: instant(),
    /** When it is decided again whether the session may open the app. */
    checkAt: instant(),
    endedAt: instant().nullable(),
    attempts: p.integer().default(0),
    /** When the logout is sent to the app. While a worker sends it, the end of its lease. */
    nextAttemptAt: instant().nullable(),
    deliveredAt: instant().nullable(),
    failedAt: instant().nullable(),
    /** The HTTP status of the last attempt. */
    status: p.integer().nullable(),
    /** Why there was no response. */
    error: p.string().length(500).nullable(),
  },
});

/** A code, access token or refresh token of an app. Only its SHA-256 is stored. */
export const OpenidToken = defineEntity({
  name: 'OpenidToken',
  tableName: 'openid_tokens',
  properties: {
    digest: p.string().length(64).primary().hidden(),
    login: () => p.manyToOne(OpenidLogin).index().deleteRule('cascade').updateRule('no action'),
    kind: p.enum(['AuthorizationCode', 'AccessToken', 'RefreshToken']),
    /** What the protocol library stores with it. */
    payload: p.json<Record<string, unknown>>().columnType('json'),
    consumedAt: instant().nullable(),
    expiresAt: instant().index(),
  },
});

/** The person has agreed that an app of a client to which they do not belong gets its claims about them. */
export const OpenidConsent = defineEntity({
  name: 'OpenidConsent',
  tableName: 'openid_consents',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').updateRule('no action'),
    app: () => p.manyToOne(App).primary().index().deleteRule('cascade').updateRule('no action'),
    /** The claims that they have agreed to. */
    claims: p.array().columnType('text[]'),
    createdAt: instant(),
  },
});
