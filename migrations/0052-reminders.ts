import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Reminders of clients: their settings, what was reminded of already, and the mails. No row is written. */
export class Reminders extends Migration {
  static readonly locks: Locks = {
    app_grants: 'ACCESS EXCLUSIVE',
    clients: 'SHARE ROW EXCLUSIVE',
    invitations: 'ACCESS EXCLUSIVE',
    memberships: 'ACCESS EXCLUSIVE',
    outbox_mails: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`
      create table client_reminders (
        client_id int primary key,
        access_days int not null default 0 constraint client_reminders_access_days_check
          check (access_days >= 0 and access_days <= 90),
        access_admins boolean not null default false,
        invitation_days int not null default 0 constraint client_reminders_invitation_days_check
          check (invitation_days >= 0 and invitation_days <= 90),
        inactive_days int not null default 0 constraint client_reminders_inactive_days_check
          check (inactive_days = 0 or inactive_days >= 14 and inactive_days <= 3650),
        suspend_days int not null default 0 constraint client_reminders_suspend_days_check
          check (suspend_days = 0 or suspend_days >= 7 and suspend_days <= 365),
        weekly_digest boolean not null default false,
        inactive_since timestamptz(3) null,
        access_told_until timestamptz(3) null,
        digest_for timestamptz(3) null,
        constraint client_reminders_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
      )`);
    this.addSql(`alter table app_grants add column reminded_for timestamptz(3) null`);
    this.addSql(`
      create index app_grants_unreminded on app_grants (expires_at) where reminded_for is distinct from expires_at`);
    this.addSql(`alter table invitations add column reminded_at timestamptz(3) null`);
    this.addSql(`alter table memberships add column inactivity_warned_at timestamptz(3) null`);
    this.addSql(`
      create index memberships_warned on memberships (client_id, user_id) where inactivity_warned_at is not null`);
    this.addSql(`
      alter table outbox_mails drop constraint outbox_mails_kind_check, add constraint outbox_mails_kind_check
        check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins',
          'password-expiry', 'email-confirmation', 'email-changed', 'access-requested', 'access-decided',
          'second-factor-added', 'second-factor-removed', 'second-factor-reset', 'recovery-code-used',
          'failed-codes', 'passkey-added', 'passkey-removed', 'second-factor-required', 'second-factor-reminder',
          'password-renewal', 'identity-linked', 'webhook-disabled', 'access-ending', 'access-ending-report',
          'invitation-reminder', 'inactivity-warning', 'weekly-digest'))`);
  }
}
