import { defineEntity, p } from '@mikro-orm/core';
import { index, instant, jsonObject } from './columns.ts';
import { User } from './user.ts';

/** A host name, optionally with a port, that serves the platform. */
export const Site = defineEntity({
  name: 'Site',
  tableName: 'sites',
  properties: {
    id: p.integer().primary().autoincrement(),
    domain: p.string().length(255).unique(),
    name: p.string().length(255),
  },
});

/** Who needs a second factor: nobody (`optional` recommends it), or everybody, with `passkey` one of this kind. */
export const FACTOR_POLICIES = ['off', 'optional', 'required', 'passkey'] as const;

export type FactorPolicy = (typeof FACTOR_POLICIES)[number];

const line = () => p.string().length(255).default('');
const html = () => p.text().default('');

/** A tenant, with its branding texts and password policy. */
export const Client = defineEntity({
  name: 'Client',
  tableName: 'clients',
  properties: {
    id: p.integer().primary().autoincrement(),
    /** One client per site: the host of a request determines the client whose branding is shown. */
    site: () => p.oneToOne(Site).owner().deleteRule('restrict').updateRule('no action'),
    name: p.string().length(255).unique(),
    defaultFromEmail: line(),
    invitationSubject: line(),
    invitationBody: html(),
    loginTitle: line(),
    loginSubtitle: line(),
    supportEmail: line(),
    homeLocation: p.string().length(2048).default('/'),
    subtitle404: line().fieldName('subtitle_404'),
    message404: html().fieldName('message_404'),
    subtitle500: line().fieldName('subtitle_500'),
    message500: html().fieldName('message_500'),
    passwordMinLength: p
      .integer()
      .default(8)
      .check('password_min_length >= 0 and password_min_length <= 128'),
    passwordAllowCommon: p.boolean().default(false),
    passwordRequireNumeric: p.boolean().default(false),
    passwordRequireUpper: p.boolean().default(false),
    passwordRequireLower: p.boolean().default(false),
    passwordRequireSpecial: p.boolean().default(false),
    /** 0 disables expiry. */
    passwordExpirationDays: p
      .integer()
      .default(0)
      .check('password_expiration_days >= 0 and password_expiration_days <= 3650'),
    factorPolicy: p.enum(FACTOR_POLICIES).default('off'),
    /** Days that members have to set up a second factor, from `factorPolicySince` or when they join. */
    factorGraceDays: p.integer().default(14).check('factor_grace_days >= 0 and factor_grace_days <= 365'),
    /** Whether members without a second factor are mailed about the policy. */
    factorMails: p.boolean().default(true),
    /** When the policy began to demand what it demands; null while it demands nothing. */
    factorPolicySince: instant().nullable(),
    /** Null means the bucket of the setting `UPLOAD_BUCKET_NAME`. */
    uploadBucketName: p.string().length(255).nullable(),
    /** The apps of a closed client do not open. */
    isOpen: p.boolean().default(true),
    /** Sites whose pages may show its apps in frames: `https://portal.example.com`. */
    embedOrigins: p.array().columnType('text[]').defaultRaw(`'{}'`),
  },
});

/**
 * Membership of a user in a client, optionally as its admin. It belongs to the client: what its admins change of a person of several
 * clients counts there only.
 */
export const MembershipSchema = defineEntity({
  name: 'Membership',
  tableName: 'memberships',
  indexes: [
    index('memberships_admins', 'memberships (user_id, client_id) where is_admin'),
    index('memberships_warned', 'memberships (client_id, user_id) where inactivity_warned_at is not null'),
  ],
  properties: {
    client: () => p.manyToOne(Client).primary().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).primary().index().deleteRule('cascade').updateRule('no action'),
    isAdmin: p.boolean().default(false),
    /** The apps of the client do not open for a suspended member. Those of an inactive user open in no case. */
    isActive: p.boolean().default(true).fieldName('is_active_member'),
    /** What the apps of the client get. Those of the account serve people without a client. */
    extra: jsonObject(),
    isDemoUser: p.boolean().default(false),
    /** When it began. Null in old rows: when the user was created. */
    joinedAt: instant().nullable(),
    /** When it was last reactivated. */
    reactivatedAt: instant().nullable(),
    /** When it was suspended; null while it is active. */
    endedAt: instant().nullable(),
    /** When the person was warned because they did not use the client; null once they have. */
    inactivityWarnedAt: instant().nullable(),
    /**
     * Passwords do not expire by the policy of the client before this time: the mail that announces it was sent too late. Not
     * loaded, because it may be infinite, which no `Date` is.
     */
    passwordExpiryFrom: instant().nullable().lazy(),
  },
});

export class Membership extends MembershipSchema.class {}
MembershipSchema.setClass(Membership);
