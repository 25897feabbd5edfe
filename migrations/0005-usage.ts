import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** The usage log and its rollups by user, app and stack for each day. */
export class Usage extends Migration {
  static readonly locks: Locks = { apps: 'SHARE ROW EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table usage_entries (
        app_id varchar(8) not null,
        occurred_at timestamptz(3) not null,
        id bigserial not null,
        entry_key varchar(128) null,
        email varchar(254) not null,
        full_name varchar(301) not null default '',
        action varchar(64) not null,
        action_description text not null default '',
        stack varchar(255) null,
        extra json not null default '{}',
        primary key (app_id, occurred_at, id),
        constraint usage_entries_action_check check (action ~ '^[A-Z][A-Z0-9_]*$')
      ) partition by range (occurred_at)`);
    this.addSql(`
      create index usage_entries_app_id_email_occurred_at_id_index on usage_entries (app_id, email, occurred_at, id)`);
    this.addSql(`
      create unique index usage_entries_entry_key on usage_entries (app_id, entry_key, occurred_at)
      where entry_key is not null`);

    this.addSql(`
      create table usage_days (
        app_id varchar(8) not null,
        email varchar(254) not null,
        day date not null,
        actions int not null,
        primary key (app_id, email, day),
        constraint usage_days_actions_check check (actions > 0)
      ) partition by range (day)`);

    this.addSql(`
      create table usage_app_days (
        app_id varchar(8) not null,
        day date not null,
        actions bigint not null,
        retention_histogram int[] not null,
        primary key (app_id, day),
        constraint usage_app_days_actions_check check (actions >= 0),
        constraint usage_app_days_retention_histogram_check check (cardinality(retention_histogram) = 90),
        constraint usage_app_days_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);

    this.addSql(`
      create table usage_stack_days (
        app_id varchar(8) not null,
        day date not null,
        stack varchar(255) not null,
        actions bigint not null,
        primary key (app_id, day, stack),
        constraint usage_stack_days_actions_check check (actions > 0),
        constraint usage_stack_days_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);

    this.addSql(`
      create table usage_windows (
        app_id varchar(8) not null,
        day date not null,
        actions30 bigint not null,
        users30 int not null,
        actions60 bigint not null,
        users60 int not null,
        actions90 bigint not null,
        users90 int not null,
        primary key (app_id),
        constraint usage_windows_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);
  }
}
