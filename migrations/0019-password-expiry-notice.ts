import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Notice of passwords that expire sooner, and mails about it. */
export class PasswordExpiryNotice extends Migration {
  static readonly locks: Locks = { memberships: 'ACCESS EXCLUSIVE', outbox_mails: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`alter table memberships add column password_expiry_from timestamptz(3) null`);
    this.addSql(`
      alter table outbox_mails drop constraint outbox_mails_kind_check, add constraint outbox_mails_kind_check
        check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins',
          'password-expiry'))`);
  }
}
