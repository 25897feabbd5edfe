/** Clients with their sites, people, and what they belong to. */
export const PEOPLE = `
create table sites (
  id serial primary key,
  domain varchar(255) not null,
  name varchar(255) not null,
  constraint sites_domain_unique unique (domain)
);

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
  is_open boolean not null default true,
  embed_origins text[] not null default '{}',
  factor_policy text not null default 'off',
  factor_grace_days int not null default 14,
  factor_policy_since timestamptz(3) null,
  factor_mails boolean not null default true,
  constraint clients_name_unique unique (name),
  constraint clients_site_id_unique unique (site_id),
  constraint clients_factor_grace_days_check check (factor_grace_days between 0 and 365),
  constraint clients_factor_policy_check check (factor_policy in ('off', 'optional', 'required', 'passkey')),
  constraint clients_password_expiration_days_check check (password_expiration_days between 0 and 3650),
  constraint clients_password_min_length_check check (password_min_length between 0 and 128),
  constraint clients_site_id_foreign foreign key (site_id) references sites (id) on delete restrict
);

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
  is_email_verified boolean not null default false,
  was_shared boolean not null default false,
  constraint users_email_unique unique (email),
  constraint users_handle_unique unique (handle),
  constraint users_email_check check (email = lower(email) and email <> ''),
  constraint users_profile_color_check check (profile_color ~ '^[0-9a-f]{6}$')
);
create index users_by_last_login on users (coalesce(last_login, '-infinity'::timestamptz), id);
create index users_by_name on users (lower(last_name || ' ' || first_name), id);
create index users_date_joined_id_index on users (date_joined, id);
create index users_last_login on users (last_login) include (is_active);
create index users_password_age on users (last_password_set, id) where is_active and password_hash is not null;
-- "pg_trgm" is optional: without it, the search of users reads them all.
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
end $$;
create index users_with_role on users (id) where is_superuser or is_staff;

create table memberships (
  client_id int not null,
  user_id int not null,
  is_admin boolean not null default false,
  password_expiry_from timestamptz(3) null,
  is_active_member boolean not null default true,
  extra json not null default '{}',
  is_demo_user boolean not null default false,
  joined_at timestamptz(3) null,
  ended_at timestamptz(3) null,
  reactivated_at timestamptz(3) null,
  inactivity_warned_at timestamptz(3) null,
  primary key (client_id, user_id),
  constraint memberships_client_id_foreign foreign key (client_id) references clients (id) on delete cascade,
  constraint memberships_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index memberships_admins on memberships (user_id, client_id) where is_admin;
create index memberships_user_id_index on memberships (user_id);
create index memberships_warned on memberships (client_id, user_id) where inactivity_warned_at is not null;

create table groups (
  id serial primary key,
  client_id int not null,
  name varchar(100) not null,
  created_at timestamptz(3) not null,
  constraint groups_name_check check (name <> ''),
  constraint groups_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
);
create index groups_name on groups (client_id, lower(name));

create table group_members (
  group_id int not null,
  user_id int not null,
  added_by int null,
  added_at timestamptz(3) not null,
  primary key (group_id, user_id),
  constraint group_members_group_id_foreign foreign key (group_id) references groups (id) on delete cascade,
  constraint group_members_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index group_members_user_id_index on group_members (user_id);

create table email_changes (
  id bigserial primary key,
  user_id int not null,
  old_email varchar(254) not null,
  new_email varchar(254) not null,
  requested_at timestamptz(3) not null,
  changed_at timestamptz(3) null,
  undo_until timestamptz(3) null,
  requested_by int not null,
  constraint email_changes_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index email_changes_reserved on email_changes (old_email) where undo_until is not null;
create index email_changes_requested on email_changes (requested_at) where changed_at is null;
create index email_changes_user_id_index on email_changes (user_id);

create table operations (
  id uuid primary key,
  user_id int not null,
  confined_to int null,
  change text not null,
  started_at timestamptz(3) not null
);
create index operations_started_at_index on operations (started_at);

create table operation_changes (
  operation_id uuid not null,
  user_id int not null,
  granted varchar(8)[] not null default '{}',
  revoked varchar(8)[] not null default '{}',
  joined int[] not null default '{}',
  is_active boolean null,
  changed_at timestamptz(3) not null,
  undone json null,
  members_of int[] not null default '{}',
  revoked_terms json null,
  groups int[] not null default '{}',
  ended json null,
  primary key (operation_id, user_id),
  constraint operation_changes_operation_id_foreign foreign key (operation_id) references operations (id) on delete cascade,
  constraint operation_changes_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index operation_changes_user_id_index on operation_changes (user_id);

create table erasures (
  id serial primary key,
  user_id int null,
  pseudonym varchar(254) not null,
  digests varchar(64)[] not null,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3) null,
  addresses varchar(254)[] null,
  until_transaction text null,
  constraint erasures_finished_check check ((finished_at is null) = (addresses is not null))
);
create index erasures_digests on erasures using gin (digests);
create index erasures_unfinished on erasures (id) where finished_at is null;
`;
