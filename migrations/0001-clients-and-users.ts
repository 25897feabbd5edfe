import { Migration } from '@mikro-orm/migrations';

/** Sites, clients, users and memberships. */
export class ClientsAndUsers extends Migration {
  override up(): void {
    this.addSql(`
      create table sites (
        id serial primary key,
        domain varchar(255) not null,
        name varchar(255) not null,
        constraint sites_domain_unique unique (domain)
      )`);

    this.addSql(`
      create table clients (
        id serial primary key,
        site_id int not null,
        name varchar(255) not null,
        default_from_email varchar(255) not null default '',
        invitation_subject varchar(255) not null default '',
        invitation_body text not null default '',
        login_title varchar(255) not null default '',
        login_subtitle varchar(255) not null default '',
        support_email varchar(255) not null default '',
        home_location varchar(2048) not null default '/',
        subtitle_404 varchar(255) not null default '',
        message_404 text not null default '',
        subtitle_500 varchar(255) not null default '',
        message_500 text not null default '',
        password_min_length int not null default 8,
        password_allow_common boolean not null default false,
        password_require_numeric boolean not null default false,
        password_require_upper boolean not null default false,
        password_require_lower boolean not null default false,
        password_require_special boolean not null default false,
        password_expiration_days int not null default 0,
        upload_bucket_name varchar(255) null,
        constraint clients_site_id_unique unique (site_id),
        constraint clients_name_unique unique (name),
        constraint clients_password_min_length_check check (password_min_length >= 8 and password_min_length <= 128),
        constraint clients_password_expiration_days_check check (password_expiration_days >= 0 and password_expiration_days <= 3650),
        constraint clients_site_id_foreign foreign key (site_id) references sites (id) on delete restrict
      )`);

    this.addSql(`
      create table users (
        id serial primary key,
        email varchar(254) not null,
        handle varchar(64) not null,
        first_name varchar(150) not null default '',
        last_name varchar(150) not null default '',
        extra json not null default '{}',
        is_active boolean not null default true,
        is_demo_user boolean not null default false,
        is_staff boolean not null default false,
        is_superuser boolean not null default false,
        profile_color varchar(6) not null,
        profile_avatar varchar(2048) null,
        password_hash varchar(512) null,
        last_login timestamptz(3) null,
        date_joined timestamptz(3) not null,
        last_activated timestamptz(3) null,
        last_deactivated timestamptz(3) null,
        last_password_set timestamptz(3) not null,
        constraint users_email_unique unique (email),
        constraint users_handle_unique unique (handle),
        constraint users_email_check check (email = lower(email) and email <> ''),
        constraint users_profile_color_check check (profile_color ~ '^[0-9a-f]{6}$')
      )`);
    // Kinds of password hashes in use: a hash without its salt and digest has few distinct values.
    this.addSql(String.raw`
      create index users_password_hash_kind on users ((
        substring(
          regexp_replace(password_hash, '^(scrypt[$][0-9]+)[$][^$]*', '\1')
          from '^(?:pbkdf2_[a-z0-9]+[$][0-9]+|bcrypt[a-z0-9_]*[$][$]2[a-z][$][0-9]{2}|scrypt(?:[$][0-9]+){3}|(?:argon2)?[$]argon2[a-z]+[$](?:v=[0-9]+[$])?[^$]+)'
        )
      )) where is_active and password_hash is not null`);

    // `pg_trgm` is optional: without it, the search of users falls back to a sequential scan.
    this.addSql(`
      do $$
      declare
        extension_schema name;
      begin
        create extension if not exists pg_trgm;
        -- The extension may already exist in another schema.
        select nspname into strict extension_schema from pg_extension join pg_namespace on pg_namespace.oid = extnamespace
        where extname = 'pg_trgm';
        execute format('create index users_search on users using gin
          (lower(email || '' '' || first_name || '' '' || last_name) %I.gin_trgm_ops)', extension_schema);
      exception
        when insufficient_privilege or feature_not_supported or undefined_file then
          raise notice 'Creating no index for the search of users, because pg_trgm cannot be installed: %', sqlerrm;
      end $$`);

    this.addSql(`
      create table memberships (
        client_id int not null,
        user_id int not null,
        is_admin boolean not null default false,
        primary key (client_id, user_id),
        constraint memberships_client_id_foreign foreign key (client_id) references clients (id) on delete cascade,
        constraint memberships_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index memberships_user_id_index on memberships (user_id)`);
    this.addSql(`create index memberships_admins on memberships (user_id, client_id) where is_admin`);
  }
}
