import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** What API tokens are used for. */
export class TokenUse extends Migration {
  static readonly locks: Locks = { api_tokens: 'SHARE ROW EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table token_uses (
        token_id bigint not null,
        procedure varchar(100) not null,
        scopes text[] not null,
        last_used_at timestamptz(3) not null,
        primary key (token_id, procedure),
        constraint token_uses_token_id_foreign foreign key (token_id) references api_tokens (id) on delete cascade
      )`);
  }
}
