import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** What a token may do, where from and in which client. Null: all that its person may do. */
export class TokenScopes extends Migration {
  static readonly locks: Locks = { api_tokens: 'ACCESS EXCLUSIVE', clients: 'SHARE ROW EXCLUSIVE' };

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
  }
}
