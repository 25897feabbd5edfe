import { defineEntity, p } from '@mikro-orm/core';
import { index, instant, uniqueIndex } from './columns.ts';
import { SsoConnection } from './sso.ts';
import { User } from './user.ts';

export const FACTOR_KINDS = ['totp', 'passkey'] as const;
export type FactorKind = (typeof FACTOR_KINDS)[number];

/** A second factor of a user: an authenticator app (TOTP) or a passkey. It counts from its confirmation. */
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
    /** Of an app: encrypted with the secret key of the service, for this user only. */
    sealedSecret: p.blob().hidden().nullable(),
    /** Of a passkey that is being added: what it has to sign, 43 base64url characters. */
    challenge: p.string().length(43).nullable(),
    createdAt: instant(),
    /** Null until a code, or a signature, has shown that the user has the secret. */
    confirmedAt: instant().nullable(),
    lastUsedAt: instant().nullable(),
    /** Of an app: the time step of the last code (RFC 6238 §4.2). This and earlier codes are refused. */
    lastStep: p.integer().nullable(),
  },
  checks: [{ name: 'mfa_factors_secret_check', expression: `kind <> 'totp' or sealed_secret is not null` }],
});

/** What a confirmed passkey adds to its row of `mfa_factors` (Web Authentication Level 3, §4, credential record). */
export const Passkey = defineEntity({
  name: 'Passkey',
  tableName: 'passkeys',
  properties: {
    factor: () => p.oneToOne(MfaFactor).owner().primary().deleteRule('cascade').updateRule('no action'),
    /** Chosen by the authenticator: up to 1,023 bytes in base64url. */
    credentialId: p.string().length(1364).unique(),
    /** In COSE (RFC 9052 §7). */
    publicKey: p.blob(),
    /** The same for all passkeys of a user: how authenticators tell accounts apart. */
    userHandle: p.string().length(43),
    /** Signatures so far; synchronized passkeys do not count and stay at 0. */
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
    /** What completes the login: a second factor, or what a policy demands: an app that is set up, or a passkey that is added. */
    step: p.enum(['code', 'enrol', 'passkey']).default('code'),
    /** Of an app that is set up: the secret of the app, encrypted for this user. Another browser gets another one. */
    sealedSecret: p.blob().nullable().hidden(),
    firstStep: p.enum(['password', 'sso']),
    /** Of a login by single sign-on, for its session. */
    connection: () => p.manyToOne(SsoConnection).nullable().deleteRule('cascade').updateRule('no action'),
    sid: p.string().length(255).nullable(),
    /** What was proven so far; null: the password alone. */
    methods: p.array().columnType('text[]').nullable(),
    createdAt: instant(),
    expiresAt: instant().index(),
    usedAt: instant().nullable(),
    /** Codes and passkeys that were tried, right or wrong. */
    attempts: p.integer().default(0),
  },
});
