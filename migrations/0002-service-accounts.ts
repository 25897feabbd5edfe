import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Limits of tokens (null: all that their user may do), and service accounts, whose rows of `users` hold their ids and names. */
export class ServiceAccounts extends Migration {
  static readonly locks: Locks = {
    api_tokens: 'ACCESS EXCLUSIVE',
    users: 'SHARE ROW EXCLUSIVE',
    clients: 'SHARE ROW EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`
      alter table api_tokens
        add column client_id int null,
        add column scopes text[] null,
        add column networks text[] null,
        add constraint api_tokens_client_id_foreign foreign key (client_id) references clients (id) on delete cascade`);
    this.addSql(
      'create index api_tokens_client_id_index on api_tokens (client_id) where client_id is not null',
    );
    this.addSql(`
      create table service_accounts (
        user_id int primary key,
        client_id int null,
        name varchar(100) not null,
        description varchar(500) not null default '',
        roles text[] not null default '{}',
        scopes text[] null,
        is_active boolean not null default true,
        created_at timestamptz(3) not null,
        created_by int null,
        constraint service_accounts_user_id_foreign foreign key (user_id) references users (id) on delete cascade,
        constraint service_accounts_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
      )`);
    this.addSql(
      'create unique index service_accounts_name on service_accounts (coalesce(client_id, 0), lower(name))',
    );
  }
}
