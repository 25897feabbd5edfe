import { defineEntity, p } from '@mikro-orm/core';
import { index, instant, uniqueIndex } from './columns.ts';
import { User } from './user.ts';

export const FACTOR_KINDS = ['totp'] as const;

/** A second factor of a user. It counts from its confirmation. */
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
    /** Encrypted with the secret key of the service, for this user only. */
    sealedSecret: p.blob().hidden(),
    createdAt: instant(),
    /** Null until a code has shown that the user has the secret. */
    confirmedAt: instant().nullable(),
    lastUsedAt: instant().nullable(),
    /** The time step of the last code (RFC 6238 §4.2): this and earlier codes are refused. */
    lastStep: p.integer().nullable(),
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
    firstStep: p.enum(['password']),
    createdAt: instant(),
    expiresAt: instant().index(),
    usedAt: instant().nullable(),
    /** Codes that were entered, right or wrong. */
    attempts: p.integer().default(0),
  },
});
