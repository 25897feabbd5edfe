import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** API tokens, sessions, password links, rate limits and stored responses. */
export class Auth extends Migration {
  static readonly locks: Locks = { users: 'SHARE ROW EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table api_tokens (
        id bigserial primary key,
        user_id int not null,
        digest varchar(64) not null,
        name varchar(100) not null default '',
        created_at timestamptz(3) not null,
        last_used timestamptz(3) not null,
        last_address varchar(45) not null default '',
        constraint api_tokens_digest_unique unique (digest),
        constraint api_tokens_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index api_tokens_user_id_created_at_index on api_tokens (user_id, created_at)`);
    this.addSql(`create unique index api_tokens_user_id_name on api_tokens (user_id, name) where name <> ''`);

    this.addSql(`
      create table sessions (
        id bigserial primary key,
        user_id int not null,
        digest varchar(64) not null,
        created_at timestamptz(3) not null,
        authenticated_at timestamptz(3) not null,
        expires_at timestamptz(3) not null,
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

    this.addSql(`
      create table rate_limits (
        key varchar(255) not null,
        points int not null default 0,
        expire bigint null,
        primary key (key)
      )`);
    this.addSql(`create index rate_limits_expire_index on rate_limits (expire)`);

    this.addSql(`
      create table idempotent_responses (
        user_id int not null,
        key varchar(255) not null,
        fingerprint varchar(64) not null,
        response bytea null,
        created_at timestamptz(3) not null,
        is_superuser boolean not null default false,
        is_staff boolean not null default false,
        admin_of int[] not null default '{}',
        primary key (user_id, key)
      )`);
    this.addSql(`create index idempotent_responses_created_at_index on idempotent_responses (created_at)`);
  }
}
