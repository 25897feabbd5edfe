import { Migration } from '@mikro-orm/migrations';

/** What the sending of owed mails needs to know, and the end of an invitation. */
export class MailDelivery extends Migration {
  override up(): void {
    this.addSql(`alter table invitations add column closed_at timestamptz(3) null`);

    this.addSql(`
      alter table outbox_mails
        add column password_link_id bigint null,
        add column attempts int not null default 0,
        add column last_attempt_at timestamptz(3) null,
        add column next_attempt_at timestamptz(3) not null default now(),
        add column last_error varchar(500) null,
        add column failed_at timestamptz(3) null,
        drop constraint outbox_mails_kind_check,
        add constraint outbox_mails_kind_check check (kind in ('invitation', 'password-setup', 'password-reset')),
        add constraint outbox_mails_password_link_id_foreign foreign key (password_link_id) references password_links (id) on delete set null`);
    this.addSql(`drop index outbox_mails_unsent`);
    this.addSql(`drop index outbox_mails_client_id_index`);
    this.addSql(`create index outbox_mails_client_id_id_index on outbox_mails (client_id, id)`);
    this.addSql(`create index outbox_mails_password_link_id_index on outbox_mails (password_link_id)`);
    this.addSql(`create index outbox_mails_last_attempt_at_index on outbox_mails (last_attempt_at)`);
    this.addSql(
      `create index outbox_mails_due on outbox_mails ((kind = 'invitation'), next_attempt_at, id) where sent_at is null and failed_at is null`,
    );

    this.addSql(`
      create function outbox_mails_notify_fn() returns trigger language plpgsql as $$
      begin perform pg_notify('outbox_mails', ''); return null; end $$`);
    this.addSql(`
      create trigger notify after insert on outbox_mails
      for each statement execute function outbox_mails_notify_fn()`);
  }
}
