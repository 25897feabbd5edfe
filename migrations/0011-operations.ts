import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Changes of many users that can be undone, and the limit of password mails that admins send. */
export class Operations extends Migration {
  static readonly locks: Locks = { outbox_mails: 'SHARE', users: 'SHARE ROW EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table operations (
        id uuid not null,
        user_id int not null,
        change text not null,
        started_at timestamptz(3) not null,
        primary key (id)
      )`);
    this.addSql(`create index operations_started_at_index on operations (started_at)`);
    this.addSql(`
      create table operation_changes (
        operation_id uuid not null,
        user_id int not null,
        granted varchar(8)[] not null default '{}',
        revoked varchar(8)[] not null default '{}',
        joined int[] not null default '{}',
        is_active boolean null,
        changed_at timestamptz(3) not null,
        primary key (operation_id, user_id),
        constraint operation_changes_operation_id_foreign foreign key (operation_id) references operations (id) on delete cascade,
        constraint operation_changes_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index operation_changes_user_id_index on operation_changes (user_id)`);
    this.addSql(`
      create index outbox_mails_password on outbox_mails (recipient, created_at)
      where kind in ('password-setup', 'password-reset')`);
  }
}
