import { defineEntity, p } from '@mikro-orm/core';
import { index, instant, jsonObject } from './columns.ts';

const ERASED_COLOR = '4f6d7a';

/** An account. */
export const UserSchema = defineEntity({
  name: 'User',
  tableName: 'users',
  indexes: [
    // Exists only if pg_trgm is installed.
    index(
      'users_search',
      `users using gin (lower(email || ' ' || first_name || ' ' || last_name) gin_trgm_ops)`,
    ),
    index('users_by_name', `users (lower(last_name || ' ' || first_name), id)`),
    index('users_by_last_login', `users (coalesce(last_login, '-infinity'::timestamptz), id)`),
    index('users_last_login', 'users (last_login) include (is_active)'),
    { properties: ['dateJoined', 'id'] },
    index(
      'users_password_age',
      'users (last_password_set, id) where is_active and password_hash is not null',
    ),
    index('users_with_role', 'users (id) where is_superuser or is_staff'),
  ],
  properties: {
    id: p.integer().primary().autoincrement(),
    /** Lower case, so that the unique constraint is case-insensitive. */
    email: p.string().length(254).unique().check(`email = lower(email) and email <> ''`),
    /** Whether the address was proved to be the person's: by a mailed link, or by the provider of a client that has verified the domain. */
    isEmailVerified: p.boolean().default(false),
    handle: p.string().length(64).unique(),
    firstName: p.string().length(150).default(''),
    lastName: p.string().length(150).default(''),
    extra: jsonObject(),
    isActive: p.boolean().default(true),
    isDemoUser: p.boolean().default(false),
    isStaff: p.boolean().default(false),
    isSuperuser: p.boolean().default(false),
    profileColor: p.string().length(6).check(`profile_color ~ '^[0-9a-f]{6}$'`),
    /** Null means the letter avatar that the service draws. */
    profileAvatar: p.string().length(2048).nullable(),
    /** Loaded only on request and written only by bound parameters, so that it stays out of logs. */
    passwordHash: p.string().length(512).nullable().lazy().hidden(),
    lastLogin: instant().nullable(),
    dateJoined: instant(),
    lastActivated: instant().nullable(),
    lastDeactivated: instant().nullable(),
    /**
     * Whether the account has ever belonged to a second client, left a client, or had a role in all clients. Such an account is the
     * person's: admins of a client may not change it.
     */
    wasShared: p.boolean().default(false),
    /** The time of creation until the first password is set. */
    lastPasswordSet: instant(),
  },
});

export class User extends UserSchema.class {
  /** Deactivating an inactive user keeps the first date. */
  deactivate(now: Date): void {
    if (!this.isActive) return;
    this.isActive = false;
    this.lastDeactivated = now;
  }

  activate(now: Date): void {
    if (this.isActive) return;
    this.isActive = true;
    this.lastActivated = now;
  }

  setRoles({
    isStaff,
    isSuperuser,
  }: {
    isStaff?: boolean | undefined;
    isSuperuser?: boolean | undefined;
  }): void {
    this.isStaff = isStaff ?? this.isStaff;
    this.isSuperuser = isSuperuser ?? this.isSuperuser;
    this.wasShared ||= this.isStaff || this.isSuperuser;
  }

  /** Replaces the person by a pseudonym without access, irreversibly. The caller deletes the password hash. */
  erase(pseudonym: string, now: Date): void {
    this.deactivate(now);
    this.setRoles({ isStaff: false, isSuperuser: false });
    this.email = pseudonym;
    this.handle = `@${pseudonym.slice(0, pseudonym.indexOf('@'))}`;
    this.firstName = '';
    this.lastName = '';
    this.extra = {};
    this.profileColor = ERASED_COLOR;
    this.profileAvatar = null;
    this.lastLogin = null;
    // Ends logins whose password was verified before.
    this.lastPasswordSet = now;
  }
}
UserSchema.setClass(User);

/**
 * A requested or completed change of an email address. The row holds no secret: both mailed links are signed with the key of the service.
 */
export const EmailChange = defineEntity({
  name: 'EmailChange',
  tableName: 'email_changes',
  indexes: [
    index('email_changes_reserved', 'email_changes (old_email) where undo_until is not null'),
    index('email_changes_requested', 'email_changes (requested_at) where changed_at is null'),
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    oldEmail: p.string().length(254),
    newEmail: p.string().length(254),
    requestedAt: instant(),
    /** The id of the person or of an admin. */
    requestedBy: p.integer(),
    /** Null until the link to the new address is confirmed. */
    changedAt: instant().nullable(),
    /** Until when the link to the old address works and this address is reserved. Null without a link, or after its use. */
    undoUntil: instant().nullable(),
  },
});
