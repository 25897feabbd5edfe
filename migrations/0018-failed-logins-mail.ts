import { Migration } from '@mikro-orm/migrations';

/** Mails about failed logins. */
export class FailedLoginsMail extends Migration {
  override up(): void {
    this.addSql(`
      alter table outbox_mails drop constraint outbox_mails_kind_check, add constraint outbox_mails_kind_check
        check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins'))`);
  }
}
