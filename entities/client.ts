import { defineEntity, p } from '@mikro-orm/core';
import { index, instant, jsonObject, jsonSchema } from './columns.ts';
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

/**
 * Whether members need a second factor. `off` and `optional`: no, but `optional` recommends one. `required` and `passkey`: yes, with
 * `passkey` it must be a passkey.
 */
export const FACTOR_POLICIES = ['off', 'optional', 'required', 'passkey'] as const;

export type FactorPolicy = (typeof FACTOR_POLICIES)[number];

/** What invalid data permissions do: `warn` only shows them, and apps receive `extra` as it is; `enforce` keeps the app closed. */
export const ATTRIBUTE_MODES = ['warn', 'enforce'] as const;

export type AttributeMode = (typeof ATTRIBUTE_MODES)[number];

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
    /** When the present requirement began; null if nothing is required. */
    factorPolicySince: instant().nullable(),
    /** Null: the bucket of the setting `UPLOAD_BUCKET_NAME`. */
    uploadBucketName: p.string().length(255).nullable(),
    /** The apps of a closed client do not open. */
    isOpen: p.boolean().default(true),
    /** Sites whose pages may show its apps in frames: `https://portal.example.com`. */
    embedOrigins: p.array().columnType('text[]').defaultRaw(`'{}'`),
    /** JSON Schema of the data permissions that several of its apps share; null: none. */
    attributes: jsonSchema(),
    attributesMode: p.enum(ATTRIBUTE_MODES).default('enforce'),
    /** The keys that `attributes` or a package of an app of the client declares. */
    attributeKeys: p.array().columnType('text[]').defaultRaw(`'{}'`),
    /** Whether its help desk may look at apps as members. */
    helpDeskMayViewAs: p.boolean().default(false),
    /** Whether members get a mail when someone looks at an app as them. */
    mailViewAs: p.boolean().default(false),
  },
});

/**
 * Membership of a user in a client, optionally with roles. For a person of several clients, the admins of a client change this row
 * instead of the account.
 */
export const MembershipSchema = defineEntity({
  name: 'Membership',
  tableName: 'memberships',
  indexes: [
    index('memberships_roles', "memberships (user_id, client_id) where is_admin or roles <> '{}'"),
    index('memberships_suspended', 'memberships (user_id, client_id) where not is_active_member'),
    index('memberships_warned', 'memberships (client_id, user_id) where inactivity_warned_at is not null'),
  ],
  properties: {
    client: () => p.manyToOne(Client).primary().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).primary().index().deleteRule('cascade').updateRule('no action'),
    isAdmin: p.boolean().default(false),
    /** Names of delegated roles. */
    roles: p.array().columnType('text[]').defaultRaw(`'{}'`),
    /** A suspended member cannot open the apps of the client. An inactive user can open none. */
    isActive: p.boolean().default(true).fieldName('is_active_member'),
    /** What the apps of the client receive. For people without a client, they receive `extra` of the account. */
    extra: jsonObject(),
    /** Data permissions that the last login with the client's provider stated; null: none. */
    claims: p.json<Record<string, unknown>>().columnType('json').nullable(),
    isDemoUser: p.boolean().default(false),
    /** When it began. Null in old rows: when the user was created. */
    joinedAt: instant().nullable(),
    /** When it was last reactivated. */
    reactivatedAt: instant().nullable(),
    /** When it was suspended; null while it is active. */
    endedAt: instant().nullable(),
    /** When the person was warned that they do not use the client; null after their next use. */
    inactivityWarnedAt: instant().nullable(),
    /**
     * Passwords do not expire by the policy of the client before this time, because the mail that announces the expiry was sent late. Lazy,
     * because it may be infinite, which `Date` cannot represent.
     */
    passwordExpiryFrom: instant().nullable().lazy(),
  },
});

export class Membership extends MembershipSchema.class {}
MembershipSchema.setClass(Membership);
