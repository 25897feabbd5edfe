import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Saved views of lists. */
export class ListViews extends Migration {
  static readonly locks: Locks = { clients: 'SHARE ROW EXCLUSIVE', users: 'SHARE ROW EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table list_views (
        id serial primary key,
        user_id int not null,
        client_id int null,
        list text not null,
        name varchar(100) not null,
        search json not null default '{}',
        is_shared boolean not null default false,
        created_at timestamptz(3) not null,
        modified_at timestamptz(3) not null,
        constraint list_views_list_check check (list in ('people', 'apps', 'audit', 'mails')),
        constraint list_views_name_check check (name <> ''),
        constraint list_views_check check (not is_shared or client_id is not null),
        constraint list_views_user_id_foreign foreign key (user_id) references users (id) on delete cascade,
        constraint list_views_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
      )`);
    this.addSql('create index list_views_user_id_index on list_views (user_id)');
    this.addSql('create index list_views_client_id_index on list_views (client_id)');
    this.addSql(`
      create table list_view_pins (
        list_view_id int not null,
        user_id int not null,
        primary key (list_view_id, user_id),
        constraint list_view_pins_list_view_id_foreign foreign key (list_view_id)
          references list_views (id) on delete cascade,
        constraint list_view_pins_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql('create index list_view_pins_user_id_index on list_view_pins (user_id)');
  }
}
