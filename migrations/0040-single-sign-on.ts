import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Connections of clients to identity providers, verified domains, external identities and logins under way. No row is written. */
export class SingleSignOn extends Migration {
  static readonly locks: Locks = {
    clients: 'SHARE ROW EXCLUSIVE',
    groups: 'SHARE ROW EXCLUSIVE',
    login_challenges: 'ACCESS EXCLUSIVE',
    sessions: 'ACCESS EXCLUSIVE',
    users: 'SHARE ROW EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`
      create table sso_connections (
        id serial primary key,
        client_id int not null,
        name varchar(100) not null,
        issuer varchar(2048) not null,
        registered_as varchar(255) not null,
        sealed_secret bytea null,
        scopes varchar(500) not null,
        email_claim varchar(100) not null default 'email',
        first_name_claim varchar(100) not null default 'given_name',
        last_name_claim varchar(100) not null default 'family_name',
        groups_claim varchar(100) not null default '',
        is_active boolean not null default false,
        is_required boolean not null default false,
        provisions boolean not null default false,
        created_at timestamptz(3) not null,
        tested_at timestamptz(3) null,
        constraint sso_connections_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
      )`);
    this.addSql(`create index sso_connections_client_id_index on sso_connections (client_id)`);
    this.addSql(`create unique index sso_connections_active on sso_connections (client_id) where is_active`);

    this.addSql(`
      create table sso_groups (
        connection_id int not null,
        group_id int not null,
        claim_value varchar(255) not null,
        primary key (connection_id, group_id, claim_value),
        constraint sso_groups_connection_id_foreign foreign key (connection_id)
          references sso_connections (id) on delete cascade,
        constraint sso_groups_group_id_foreign foreign key (group_id) references groups (id) on delete cascade
      )`);
    this.addSql(`create index sso_groups_group_id_index on sso_groups (group_id)`);

    this.addSql(`
      create table client_domains (
        id serial primary key,
        client_id int not null,
        domain varchar(253) not null,
        token varchar(43) not null,
        created_at timestamptz(3) not null,
        verified_at timestamptz(3) null,
        lapsed_at timestamptz(3) null,
        vouched_by varchar(254) null,
        checked_at timestamptz(3) null,
        constraint client_domains_client_id_domain_unique unique (client_id, domain),
        constraint client_domains_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
      )`);
    this.addSql(
      `create unique index client_domains_verified on client_domains (domain) where verified_at is not null and lapsed_at is null`,
    );

    this.addSql(`
      create table external_identities (
        id serial primary key,
        connection_id int not null,
        user_id int not null,
        issuer varchar(2048) not null,
        subject varchar(255) not null,
        email varchar(254) not null,
        created_at timestamptz(3) not null,
        last_login timestamptz(3) null,
        constraint external_identities_issuer_subject_unique unique (issuer, subject),
        constraint external_identities_connection_id_foreign foreign key (connection_id)
          references sso_connections (id) on delete cascade,
        constraint external_identities_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(
      `create index external_identities_connection_id_index on external_identities (connection_id)`,
    );
    this.addSql(`create index external_identities_user_id_index on external_identities (user_id)`);

    this.addSql(`
      create table sso_logins (
        id bigserial primary key,
        connection_id int not null,
        digest varchar(64) not null,
        browser_digest varchar(64) not null,
        kind text not null constraint sso_logins_kind_check check (kind in ('login', 'confirm', 'test', 'link')),
        user_id int null,
        next varchar(2048) null,
        assertion json null,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3) not null,
        used_at timestamptz(3) null,
        constraint sso_logins_digest_unique unique (digest),
        constraint sso_logins_connection_id_foreign foreign key (connection_id)
          references sso_connections (id) on delete cascade,
        constraint sso_logins_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index sso_logins_connection_id_index on sso_logins (connection_id)`);
    this.addSql(`create index sso_logins_user_id_index on sso_logins (user_id)`);
    this.addSql(`create index sso_logins_expires_at_index on sso_logins (expires_at)`);

    this.addSql(`
      create table sso_logouts (
        connection_id int not null,
        digest varchar(64) not null,
        expires_at timestamptz(3) not null,
        primary key (connection_id, digest),
        constraint sso_logouts_connection_id_foreign foreign key (connection_id)
          references sso_connections (id) on delete cascade
      )`);
    this.addSql(`create index sso_logouts_expires_at_index on sso_logouts (expires_at)`);

    this.addSql(`
      alter table sessions add column connection_id int null, add column sid varchar(255) null,
        add constraint sessions_connection_id_foreign foreign key (connection_id)
          references sso_connections (id) on delete set null`);
    this.addSql(
      `create index sessions_by_connection on sessions (connection_id, sid) where connection_id is not null`,
    );
    this.addSql(`
      alter table login_challenges add column connection_id int null, add column sid varchar(255) null,
        add column methods text[] null,
        add constraint login_challenges_connection_id_foreign foreign key (connection_id)
          references sso_connections (id) on delete cascade,
        drop constraint login_challenges_first_step_check,
        add constraint login_challenges_first_step_check check (first_step in ('password', 'sso'))`);
  }
}
