import { defineEntity, p } from '@mikro-orm/core';
import { index, instant, uniqueIndex } from './columns.ts';
import { SsoConnection } from './sso.ts';
import { User } from './user.ts';

export const FACTOR_KINDS = ['totp', 'passkey'] as const;
export type FactorKind = (typeof FACTOR_KINDS)[number];

/** A second factor of a user: an authenticator app (TOTP) or a passkey. It counts once it is confirmed. */
export const MfaFactor = defineEntity({
  name: 'MfaFactor',
  tableName: 'mfa_factors',
  indexes: [
    { properties: ['user'] },
    uniqueIndex('mfa_factors_unconfirmed', 'mfa_factors (user_id) where confirmed_at is null'),
    index('mfa_factors_started', 'mfa_factors (created_at) where confirmed_at is null'),
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).deleteRule('cascade').updateRule('no action'),
    kind: p.enum(FACTOR_KINDS),
    name: p.string().length(100),
    /** Authenticator app: its secret, encrypted with the secret key of the service, for this user only. */
    sealedSecret: p.blob().hidden().nullable(),
    /** Unconfirmed passkey: the challenge to sign, 43 base64url characters. */
    challenge: p.string().length(43).nullable(),
    createdAt: instant(),
    /** Null until a code or a signature has proved that the user has the secret. */
    confirmedAt: instant().nullable(),
    lastUsedAt: instant().nullable(),
    /** Authenticator app: the time step of the last code (RFC 6238 §4.2). This and earlier codes are refused. */
    lastStep: p.integer().nullable(),
  },
  checks: [{ name: 'mfa_factors_secret_check', expression: `kind <> 'totp' or sealed_secret is not null` }],
});

/** The further columns of a confirmed passkey (Web Authentication Level 3, §4, credential record). */
export const Passkey = defineEntity({
  name: 'Passkey',
  tableName: 'passkeys',
  properties: {
    factor: () => p.oneToOne(MfaFactor).owner().primary().deleteRule('cascade').updateRule('no action'),
    /** Chosen by the authenticator: up to 1,023 bytes in base64url. */
    credentialId: p.string().length(1364).unique(),
    /** In COSE (RFC 9052 §7). */
    publicKey: p.blob(),
    /** By which authenticators tell accounts apart: the same for all passkeys of a user. */
    userHandle: p.string().length(43),
    /** Signatures so far. Synchronized passkeys do not count them and stay at 0. */
    signCount: p.bigint('number'),
    /** How browsers reach the authenticator, such as `usb` and `hybrid`. */
    transports: p.array().columnType('text[]').defaultRaw(`'{}'`),
    isBackedUp: p.boolean(),
    /** The model of the authenticator, zeros if it does not say. */
    aaguid: p.uuid(),
  },
});

/** A challenge that a passkey has answered, so that it cannot be answered again before it expires. */
export const AnsweredChallenge = defineEntity({
  name: 'AnsweredChallenge',
  tableName: 'answered_challenges',
  properties: {
    /** SHA-256 of the challenge, 64 hexadecimal characters. */
    digest: p.string().length(64).primary().hidden(),
    expiresAt: instant().index(),
  },
});

/** A code that replaces a second factor once. */
export const RecoveryCode = defineEntity({
  name: 'RecoveryCode',
  tableName: 'recovery_codes',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    /** SHA-256 of the user's id and the code, 64 hexadecimal characters. */
    digest: p.string().length(64).unique().hidden(),
    usedAt: instant().nullable(),
  },
});

/** A login that waits for the second factor. The browser keeps its token in a cookie. */
export const LoginChallenge = defineEntity({
  name: 'LoginChallenge',
  tableName: 'login_challenges',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    /** SHA-256 of the token, 64 hexadecimal characters. */
    digest: p.string().length(64).unique().hidden(),
    /**
     * What completes the login: a second factor (`code`), or what a policy requires: set up an app (`enrol`) or add a passkey (`passkey`).
     */
    step: p.enum(['code', 'enrol', 'passkey']).default('code'),
    /** Step `enrol`: the secret of the new app, encrypted for this user. Another browser gets another one. */
    sealedSecret: p.blob().nullable().hidden(),
    firstStep: p.enum(['password', 'sso']),
    /** The single sign-on by which the login began, for its session. */
    connection: () => p.manyToOne(SsoConnection).nullable().deleteRule('cascade').updateRule('no action'),
    sid: p.string().length(255).nullable(),
    /** The methods proven so far; null: the password only. */
    methods: p.array().columnType('text[]').nullable(),
    createdAt: instant(),
    expiresAt: instant().index(),
    usedAt: instant().nullable(),
    /** Codes and passkeys tried, right or wrong. */
    attempts: p.integer().default(0),
  },
});
