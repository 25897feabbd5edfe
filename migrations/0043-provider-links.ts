import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Since when the provider of a client could log in as a user, also if it no longer can. Each user with an external identity gets a row. */
export class ProviderLinks extends Migration {
  static readonly locks: Locks = { users: 'SHARE ROW EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table provider_links (
        user_id int not null,
        client_id int not null,
        since timestamptz(3) not null,
        primary key (user_id, client_id),
        constraint provider_links_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`
      insert into provider_links (user_id, client_id, since)
      select i.user_id, c.client_id, min(i.created_at)
      from external_identities i join sso_connections c on c.id = i.connection_id
      group by i.user_id, c.client_id`);
  }
}
