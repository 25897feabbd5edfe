import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** What apps restore from saved filters, with whom they are shared, and the defaults of stacks. */
export class SavedFilterState extends Migration {
  static readonly locks: Locks = {
    users: 'SHARE ROW EXCLUSIVE',
    groups: 'SHARE ROW EXCLUSIVE',
    stacks: 'SHARE ROW EXCLUSIVE',
    saved_filters: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`
      alter table saved_filters
        add column state json null,
        add column state_version varchar(64) not null default '',
        add column description varchar(500) not null default '',
        add column is_shared boolean not null default false`);
    this.addSql('create index saved_filters_shared on saved_filters (id) where is_shared');
    this.addSql(`
      create table saved_filter_groups (
        saved_filter_id int not null,
        group_id int not null,
        primary key (saved_filter_id, group_id),
        constraint saved_filter_groups_saved_filter_id_foreign foreign key (saved_filter_id)
          references saved_filters (id) on delete cascade,
        constraint saved_filter_groups_group_id_foreign foreign key (group_id) references groups (id) on delete cascade
      )`);
    this.addSql('create index saved_filter_groups_group_id_index on saved_filter_groups (group_id)');
    this.addSql(`
      create table saved_filter_defaults (
        id serial primary key,
        stack_id varchar(8) not null,
        user_id int null,
        group_id int null,
        saved_filter_id int not null,
        constraint saved_filter_defaults_stack_id_user_id_unique unique (stack_id, user_id),
        constraint saved_filter_defaults_stack_id_group_id_unique unique (stack_id, group_id),
        constraint saved_filter_defaults_check check ((user_id is null) <> (group_id is null)),
        constraint saved_filter_defaults_stack_id_foreign foreign key (stack_id) references stacks (id) on delete cascade,
        constraint saved_filter_defaults_user_id_foreign foreign key (user_id) references users (id) on delete cascade,
        constraint saved_filter_defaults_group_id_foreign foreign key (group_id) references groups (id) on delete cascade,
        constraint saved_filter_defaults_saved_filter_id_foreign foreign key (saved_filter_id)
          references saved_filters (id) on delete cascade
      )`);
    this.addSql('create index saved_filter_defaults_user_id_index on saved_filter_defaults (user_id)');
    this.addSql('create index saved_filter_defaults_group_id_index on saved_filter_defaults (group_id)');
    this.addSql(
      'create index saved_filter_defaults_saved_filter_id_index on saved_filter_defaults (saved_filter_id)',
    );
  }
}
