import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Mails about failed logins. */
export class FailedLoginsMail extends Migration {
  static readonly locks: Locks = { outbox_mails: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      alter table outbox_mails drop constraint outbox_mails_kind_check, add constraint outbox_mails_kind_check
        check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins'))`);
  }
}
