import { Migration } from '@mikro-orm/migrations';

/** Sessions of browsers, tokens by name, and links that set a password. */
export class Access extends Migration {
  override up(): void {
    this.addSql(`
      alter table api_tokens
        add column name varchar(100) not null default '',
        add column last_address varchar(45) not null default ''`);
    this.addSql(`
      create unique index api_tokens_user_id_name on api_tokens (user_id, name) where name <> ''`);

    this.addSql(`
      create table sessions (
        id bigserial primary key,
        user_id int not null,
        digest varchar(64) not null,
        created_at timestamptz(3) not null,
        last_used timestamptz(3) not null,
        last_address varchar(45) not null default '',
        user_agent varchar(255) not null default '',
        constraint sessions_digest_unique unique (digest),
        constraint sessions_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index sessions_user_id_index on sessions (user_id)`);

    this.addSql(`
      create table password_links (
        id bigserial primary key,
        user_id int not null,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3) not null,
        constraint password_links_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index password_links_user_id_index on password_links (user_id)`);
    this.addSql(`create index password_links_expires_at_index on password_links (expires_at)`);
  }
}
