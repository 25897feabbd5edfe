import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Teams of a client, which give apps to their members. */
export class Groups extends Migration {
  static readonly locks: Locks = {
    apps: 'SHARE ROW EXCLUSIVE',
    clients: 'SHARE ROW EXCLUSIVE',
    users: 'SHARE ROW EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`
      create table groups (
        id serial primary key,
        client_id int not null,
        name varchar(100) not null constraint groups_name_check check (name <> ''),
        created_at timestamptz(3) not null,
        constraint groups_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
      )`);
    this.addSql(`create index groups_name on groups (client_id, lower(name))`);
    this.addSql(`
      create table group_members (
        group_id int not null,
        user_id int not null,
        added_by int null,
        added_at timestamptz(3) not null,
        primary key (group_id, user_id),
        constraint group_members_group_id_foreign foreign key (group_id) references groups (id) on delete cascade,
        constraint group_members_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index group_members_user_id_index on group_members (user_id)`);
    this.addSql(`
      create table group_apps (
        group_id int not null,
        app_id varchar(8) not null,
        added_by int null,
        added_at timestamptz(3) not null,
        primary key (group_id, app_id),
        constraint group_apps_group_id_foreign foreign key (group_id) references groups (id) on delete cascade,
        constraint group_apps_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);
    this.addSql(`create index group_apps_app_id_index on group_apps (app_id)`);
  }
}
