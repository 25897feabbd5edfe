import { Migration } from '@mikro-orm/migrations';

/** Sites, clients, users, who belongs where, and how they log in. */
export class People extends Migration {
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
        constraint clients_password_min_length_check check (password_min_length >= 1 and password_min_length <= 128),
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

    this.addSql(`
      create table memberships (
        client_id int not null,
        user_id int not null,
        is_admin boolean not null default false,
        primary key (client_id, user_id),
        constraint memberships_client_id_foreign foreign key (client_id) references clients (id) on delete cascade,
        constraint memberships_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`
      create index memberships_user_id_index on memberships (user_id)`);

    this.addSql(`
      create table api_tokens (
        id bigserial primary key,
        user_id int not null,
        digest varchar(64) not null,
        created_at timestamptz(3) not null,
        last_used timestamptz(3) not null,
        constraint api_tokens_digest_unique unique (digest),
        constraint api_tokens_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`
      create index api_tokens_user_id_created_at_index on api_tokens (user_id, created_at)`);

    this.addSql(`
      create table rate_limits (
        key varchar(255) not null,
        points int not null default 0,
        expire bigint null,
        primary key (key)
      )`);
    this.addSql(`create index rate_limits_expire_index on rate_limits (expire)`);
  }
}
