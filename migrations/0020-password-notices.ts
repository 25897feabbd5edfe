import { Migration } from '@mikro-orm/migrations';

/** Mails that tell users that their password was changed, and from which address. */
export class PasswordNotices extends Migration {
  override up(): void {
    this.addSql(`
      alter table outbox_mails
        add column request_address varchar(45) null,
        drop constraint outbox_mails_kind_check,
        add constraint outbox_mails_kind_check check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed'))`);
  }
}
