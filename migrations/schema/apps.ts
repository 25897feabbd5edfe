/** Apps with their packages, and who has them. */
export const APPS = `
create table apps (
  id varchar(8) primary key,
  client_id int not null,
  slug varchar(64) not null,
  label varchar(255) not null,
  description text not null default '',
  help_html text not null default '',
  footer_html text not null default '',
  show_help boolean not null default false,
  show_footer boolean not null default false,
  in_maintenance boolean not null default false,
  maintenance_message text not null default '',
  package_info json not null default '{}',
  created_at timestamptz(3) not null,
  launch_url varchar(2048) not null default '',
  is_requestable boolean not null default false,
  constraint apps_slug_unique unique (slug),
  constraint apps_id_check check (id ~ '^[A-Za-z0-9]{8}$'),
  constraint apps_slug_check check (slug ~ '^[a-z0-9_-]{1,64}$'),
  constraint apps_client_id_foreign foreign key (client_id) references clients (id) on delete restrict
);
create index apps_client_id_index on apps (client_id);

create table stacks (
  id varchar(8) primary key,
  app_id varchar(8) not null,
  slug varchar(64) not null,
  label varchar(255) not null,
  is_offered boolean not null default true,
  constraint stacks_app_id_slug_unique unique (app_id, slug),
  constraint stacks_id_check check (id ~ '^[0-9a-f]{8}$'),
  constraint stacks_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
);

create table fetched_packages (
  id bigserial primary key,
  slug varchar(64) not null,
  version varchar(128) not null,
  sha256 varchar(64) not null,
  size_bytes bigint not null,
  manifest json not null,
  fetched_at timestamptz(3) not null,
  fetched_by varchar(254) not null default ''
);
create index fetched_packages_slug_id_index on fetched_packages (slug, id);

create table loaded_packages (
  id bigserial primary key,
  app_id varchar(8) not null,
  package_id bigint not null,
  loaded_at timestamptz(3) not null,
  loaded_by varchar(254) not null default '',
  is_rollback boolean not null default false,
  constraint loaded_packages_app_id_foreign foreign key (app_id) references apps (id) on delete cascade,
  constraint loaded_packages_package_id_foreign foreign key (package_id) references fetched_packages (id) on delete restrict
);
create index loaded_packages_app_id_id_index on loaded_packages (app_id, id);
create index loaded_packages_package_id_index on loaded_packages (package_id);

create table app_grants (
  user_id int not null,
  app_id varchar(8) not null,
  granted_by int null,
  granted_at timestamptz(3) null,
  expires_at timestamptz(3) null,
  reason varchar(500) not null default '',
  reminded_for timestamptz(3) null,
  primary key (user_id, app_id),
  constraint app_grants_app_id_foreign foreign key (app_id) references apps (id) on delete cascade,
  constraint app_grants_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index app_grants_by_app on app_grants (app_id, user_id) include (expires_at);
create index app_grants_expiring on app_grants (expires_at) where expires_at is not null;
create index app_grants_unreminded on app_grants (expires_at) where reminded_for is distinct from expires_at;

create table group_apps (
  group_id int not null,
  app_id varchar(8) not null,
  added_by int null,
  added_at timestamptz(3) not null,
  primary key (group_id, app_id),
  constraint group_apps_app_id_foreign foreign key (app_id) references apps (id) on delete cascade,
  constraint group_apps_group_id_foreign foreign key (group_id) references groups (id) on delete cascade
);
create index group_apps_app_id_index on group_apps (app_id);

create table access_requests (
  id serial primary key,
  user_id int not null,
  app_id varchar(8) not null,
  reason varchar(500) not null default '',
  days int null,
  status text not null default 'pending',
  version int not null default 1,
  created_at timestamptz(3) not null,
  decided_at timestamptz(3) null,
  decided_by int null,
  decision_reason varchar(500) not null default '',
  expires_at timestamptz(3) null,
  constraint access_requests_days_check check (days > 0),
  constraint access_requests_status_check check (status in ('pending', 'approved', 'denied', 'withdrawn', 'closed')),
  constraint access_requests_app_id_foreign foreign key (app_id) references apps (id) on delete cascade,
  constraint access_requests_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index access_requests_app_id_id_index on access_requests (app_id, id);
create unique index access_requests_one_pending on access_requests (user_id, app_id) where status = 'pending';
create index access_requests_user_id_id_index on access_requests (user_id, id);

create table saved_filters (
  id serial primary key,
  user_id int not null,
  stack_id varchar(8) not null,
  hash varchar(64) not null,
  name varchar(255) not null,
  created timestamptz(3) not null,
  modified timestamptz(3) not null,
  constraint saved_filters_user_id_hash_unique unique (user_id, hash),
  constraint saved_filters_hash_check check (hash ~ '^[A-Za-z0-9_-]{1,64}$'),
  constraint saved_filters_name_check check (name <> ''),
  constraint saved_filters_stack_id_foreign foreign key (stack_id) references stacks (id) on delete cascade,
  constraint saved_filters_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index saved_filters_stack_id_index on saved_filters (stack_id);
`;
