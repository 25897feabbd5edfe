/** What opens apps. */
export const OPENING = `
create table access_views (
  id bigserial primary key,
  key varchar(64) not null,
  app_id varchar(8) not null,
  user_id int null,
  is_active boolean not null default true,
  is_one_time boolean not null default false,
  by_superuser boolean not null default false,
  allowed_uses int not null default 1,
  uses int not null default 0,
  expires_at timestamptz(3) null,
  data_permissions json null,
  selections json not null default '{}',
  stack_slug varchar(64) null,
  flags json not null default '{}',
  autorotate boolean not null default false,
  allowed_networks text[] not null default '{}',
  show_header boolean not null default true,
  show_footer boolean not null default true,
  language_code varchar(2) not null default '',
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  constraint access_views_key_unique unique (key),
  constraint access_views_allowed_uses_check check (allowed_uses >= 0),
  constraint access_views_one_time_check check (not is_one_time or allowed_uses = 1 and expires_at is not null),
  constraint access_views_uses_check check (allowed_uses = 0 or uses <= allowed_uses),
  constraint access_views_app_id_foreign foreign key (app_id) references apps (id) on delete cascade,
  constraint access_views_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index access_views_app_id_id_index on access_views (app_id, id);
create index access_views_one_time on access_views (expires_at) where is_one_time;
create index access_views_user_id_index on access_views (user_id);

create table access_view_uses (
  id bigserial primary key,
  access_view_id bigint not null,
  used_at timestamptz(3) not null,
  raw_key varchar(64) not null,
  user_id int null,
  data_permissions json null,
  selections json not null,
  stack_slug varchar(64) null,
  autorotate boolean not null,
  show_header boolean not null,
  show_footer boolean not null,
  language_code varchar(2) not null,
  ip_address varchar(45) not null,
  user_agent varchar(255) not null,
  methods text[] null,
  auth_time timestamptz(3) null,
  constraint access_view_uses_access_view_id_foreign foreign key (access_view_id) references access_views (id) on delete cascade,
  constraint access_view_uses_user_id_foreign foreign key (user_id) references users (id) on delete set null
);
create index access_view_uses_access_view_id_id_index on access_view_uses (access_view_id, id);
create index access_view_uses_user_id_index on access_view_uses (user_id);

create table embed_sessions (
  digest varchar(64) primary key,
  access_view_use_id bigint not null,
  expires_at timestamptz(3) not null,
  constraint embed_sessions_access_view_use_id_foreign foreign key (access_view_use_id) references access_view_uses (id) on delete cascade
);
create index embed_sessions_access_view_use_id_index on embed_sessions (access_view_use_id);
create index embed_sessions_expires_at_index on embed_sessions (expires_at);

create table launch_codes (
  digest varchar(64) primary key,
  app_id varchar(8) not null,
  user_id int null,
  access_view_use_id bigint null,
  stack_slug varchar(64) null,
  expires_at timestamptz(3) not null,
  methods text[] null,
  auth_time timestamptz(3) null,
  confined_to int null,
  constraint launch_codes_subject_check check (user_id is not null or access_view_use_id is not null),
  constraint launch_codes_access_view_use_id_foreign foreign key (access_view_use_id) references access_view_uses (id) on delete cascade,
  constraint launch_codes_app_id_foreign foreign key (app_id) references apps (id) on delete cascade,
  constraint launch_codes_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index launch_codes_access_view_use_id_index on launch_codes (access_view_use_id);
create index launch_codes_app_id_index on launch_codes (app_id);
create index launch_codes_expires_at_index on launch_codes (expires_at);
create index launch_codes_user_id_index on launch_codes (user_id);

create table ticket_revocations (
  id bigserial primary key,
  access_view_id bigint null,
  user_id int null,
  app_id varchar(8) null,
  revoked_at timestamptz(3) not null,
  constraint ticket_revocations_subject_check check (num_nonnulls(access_view_id, user_id, app_id) <= 1),
  constraint ticket_revocations_access_view_id_foreign foreign key (access_view_id) references access_views (id) on delete cascade,
  constraint ticket_revocations_app_id_foreign foreign key (app_id) references apps (id) on delete cascade,
  constraint ticket_revocations_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index ticket_revocations_app_id_index on ticket_revocations (app_id);
create unique index ticket_revocations_subject on ticket_revocations (coalesce(access_view_id, 0), coalesce(user_id, 0), coalesce(app_id, ''));
create index ticket_revocations_user_id_index on ticket_revocations (user_id);

create table signing_keys (
  id varchar(64) primary key,
  sealed_key bytea not null,
  public_key json not null,
  created_at timestamptz(3) not null,
  signs_from timestamptz(3) not null
);
`;
