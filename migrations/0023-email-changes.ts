import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Changes of email addresses, their mails, and whom an address named at a time. */
export class EmailChanges extends Migration {
  static readonly locks: Locks = {
    erasures: 'ACCESS EXCLUSIVE',
    outbox_mails: 'ACCESS EXCLUSIVE',
    users: 'SHARE ROW EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`
      create table email_changes (
        id bigserial primary key,
        user_id int not null,
        old_email varchar(254) not null,
        new_email varchar(254) not null,
        requested_at timestamptz(3) not null,
        changed_at timestamptz(3) null,
        undo_until timestamptz(3) null,
        is_own boolean not null default true,
        is_kept boolean not null default false,
        constraint email_changes_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index email_changes_user_id_index on email_changes (user_id)`);
    this.addSql(
      `create index email_changes_old_email on email_changes (old_email) where changed_at is not null`,
    );
    this.addSql(
      `create index email_changes_requested on email_changes (requested_at) where changed_at is null`,
    );

    this.addSql(`
      alter table outbox_mails add column email_change_id bigint null,
        add constraint outbox_mails_email_change_id_foreign foreign key (email_change_id)
          references email_changes (id) on delete set null,
        drop constraint outbox_mails_kind_check, add constraint outbox_mails_kind_check
        check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins',
          'password-expiry', 'email-confirmation', 'email-changed'))`);
    this.addSql(`create index outbox_mails_email_change_id_index on outbox_mails (email_change_id)`);

    // A person with former addresses has an erasure for each address, all with the same pseudonym.
    this.addSql(`alter table erasures drop constraint erasures_pseudonym_unique`);
    this.addSql(`create index erasures_pseudonym_index on erasures (pseudonym)`);

    // The present address of the person whose former address this is; the address itself if it is nobody's.
    this.addSql(`
      create function present_email(of_address text) returns text language plpgsql stable as $$
      begin
        return coalesce(
          (select u.email from email_changes c join users u on u.id = c.user_id
            where c.old_email = of_address and c.changed_at is not null
              and not exists (select from users x where x.email = of_address)
            order by c.changed_at desc, c.id desc limit 1),
          of_address);
      end $$`);

    // After the row is written: a statement that has waited for the unique index sees the change that it waited for.
    this.addSql(`
      create function users_email_reserved_fn() returns trigger language plpgsql as $$
      begin ${RESERVED}; end $$`);
    this.addSql(`
      create trigger email_reserved after insert or update of email on users
      for each row execute function users_email_reserved_fn()`);
  }
}

const RESERVED = `if exists (select from email_changes c where c.old_email = new.email and c.user_id <> new.id
          and c.changed_at is not null and (c.is_kept or c.undo_until > now())) then
        raise exception 'The address is reserved for the person who had it before.'
          using errcode = 'unique_violation', constraint = 'users_email_unique';
      end if;
      return null`;
