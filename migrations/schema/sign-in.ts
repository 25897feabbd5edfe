/** How people log in, and what proves it. */
export const SIGN_IN = `
create table sso_connections (
  id serial primary key,
  client_id int null,
  name varchar(100) not null,
  issuer varchar(2048) not null,
  registered_as varchar(255) not null,
  sealed_secret bytea null,
  scopes varchar(500) not null,
  email_claim varchar(100) not null default 'email',
  first_name_claim varchar(100) not null default 'given_name',
  last_name_claim varchar(100) not null default 'family_name',
  groups_claim varchar(100) not null default '',
  required_claim varchar(100) not null default '',
  required_value varchar(255) not null default '',
  is_active boolean not null default false,
  is_required boolean not null default false,
  provisions boolean not null default false,
  created_at timestamptz(3) not null,
  tested_at timestamptz(3) null,
  constraint sso_connections_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
);
create unique index sso_connections_active on sso_connections (coalesce(client_id, 0)) where is_active;
create index sso_connections_client_id_index on sso_connections (client_id);

create table client_domains (
  id serial primary key,
  client_id int null,
  domain varchar(253) not null,
  token varchar(43) not null,
  created_at timestamptz(3) not null,
  verified_at timestamptz(3) null,
  lapsed_at timestamptz(3) null,
  vouched_by int null,
  checked_at timestamptz(3) null,
  constraint client_domains_client_id_domain_unique unique (client_id, domain),
  constraint client_domains_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
);
create unique index client_domains_verified on client_domains (domain) where verified_at is not null and lapsed_at is null;

create table sso_groups (
  connection_id int not null,
  group_id int not null,
  claim_value varchar(255) not null,
  primary key (connection_id, group_id, claim_value),
  constraint sso_groups_connection_id_foreign foreign key (connection_id) references sso_connections (id) on delete cascade,
  constraint sso_groups_group_id_foreign foreign key (group_id) references groups (id) on delete cascade
);
create index sso_groups_group_id_index on sso_groups (group_id);

create table external_identities (
  id serial primary key,
  connection_id int not null,
  user_id int not null,
  subject varchar(255) not null,
  email varchar(254) not null,
  created_at timestamptz(3) not null,
  last_login timestamptz(3) null,
  constraint external_identities_connection_id_subject_unique unique (connection_id, subject),
  constraint external_identities_connection_id_foreign foreign key (connection_id) references sso_connections (id) on delete cascade,
  constraint external_identities_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index external_identities_user_id_index on external_identities (user_id);

create table sso_logouts (
  connection_id int not null,
  digest varchar(64) not null,
  expires_at timestamptz(3) not null,
  primary key (connection_id, digest),
  constraint sso_logouts_connection_id_foreign foreign key (connection_id) references sso_connections (id) on delete cascade
);
create index sso_logouts_expires_at_index on sso_logouts (expires_at);

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
  methods text[] not null default '{pwd}',
  connection_id int null,
  sid varchar(255) null,
  constraint sessions_digest_unique unique (digest),
  constraint sessions_connection_id_foreign foreign key (connection_id) references sso_connections (id) on delete cascade,
  constraint sessions_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index sessions_by_connection on sessions (connection_id, sid) where connection_id is not null;
create index sessions_user_id_index on sessions (user_id);

create table api_tokens (
  id bigserial primary key,
  user_id int not null,
  digest varchar(64) not null,
  name varchar(100) not null default '',
  created_at timestamptz(3) not null,
  last_used timestamptz(3) not null,
  last_address varchar(45) not null default '',
  expires_at timestamptz(3) null,
  replacement bytea null,
  authenticated_at timestamptz(3) null,
  connection_id int null,
  constraint api_tokens_digest_unique unique (digest),
  constraint api_tokens_connection_id_foreign foreign key (connection_id) references sso_connections (id) on delete cascade,
  constraint api_tokens_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index api_tokens_connection_id_index on api_tokens (connection_id) where connection_id is not null;
create index api_tokens_user_id_created_at_index on api_tokens (user_id, created_at);
create unique index api_tokens_user_id_name on api_tokens (user_id, name) where name <> '';

create table password_links (
  id bigserial primary key,
  user_id int not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  constraint password_links_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index password_links_expires_at_index on password_links (expires_at);
create index password_links_user_id_index on password_links (user_id);

create table mfa_factors (
  id bigserial primary key,
  user_id int not null,
  kind text not null,
  name varchar(100) not null,
  sealed_secret bytea null,
  created_at timestamptz(3) not null,
  confirmed_at timestamptz(3) null,
  last_used_at timestamptz(3) null,
  last_step int null,
  challenge varchar(43) null,
  constraint mfa_factors_kind_check check (kind in ('totp', 'passkey')),
  constraint mfa_factors_secret_check check (kind <> 'totp' or sealed_secret is not null),
  constraint mfa_factors_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index mfa_factors_started on mfa_factors (created_at) where confirmed_at is null;
create unique index mfa_factors_unconfirmed on mfa_factors (user_id) where confirmed_at is null;
create index mfa_factors_user_id_index on mfa_factors (user_id);

create table passkeys (
  factor_id bigint primary key,
  credential_id varchar(1364) not null,
  public_key bytea not null,
  user_handle varchar(43) not null,
  sign_count bigint not null,
  transports text[] not null default '{}',
  is_backed_up boolean not null,
  aaguid uuid not null,
  constraint passkeys_credential_id_unique unique (credential_id),
  constraint passkeys_factor_id_foreign foreign key (factor_id) references mfa_factors (id) on delete cascade
);

create table recovery_codes (
  id bigserial primary key,
  user_id int not null,
  digest varchar(64) not null,
  used_at timestamptz(3) null,
  constraint recovery_codes_digest_unique unique (digest),
  constraint recovery_codes_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index recovery_codes_user_id_index on recovery_codes (user_id);

create table login_challenges (
  id bigserial primary key,
  user_id int not null,
  digest varchar(64) not null,
  first_step text not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3) null,
  attempts int not null default 0,
  step text not null default 'code',
  sealed_secret bytea null,
  connection_id int null,
  sid varchar(255) null,
  methods text[] null,
  constraint login_challenges_digest_unique unique (digest),
  constraint login_challenges_first_step_check check (first_step in ('password', 'sso')),
  constraint login_challenges_step_check check (step in ('code', 'enrol', 'passkey')),
  constraint login_challenges_connection_id_foreign foreign key (connection_id) references sso_connections (id) on delete cascade,
  constraint login_challenges_user_id_foreign foreign key (user_id) references users (id) on delete cascade
);
create index login_challenges_expires_at_index on login_challenges (expires_at);
create index login_challenges_user_id_index on login_challenges (user_id);

create table answered_challenges (
  digest varchar(64) primary key,
  expires_at timestamptz(3) not null
);
create index answered_challenges_expires_at_index on answered_challenges (expires_at);

create table rate_limits (
  key varchar(255) primary key,
  points int not null default 0,
  expire bigint null
);
create index rate_limits_expire_index on rate_limits (expire);

create table idempotent_responses (
  user_id int not null,
  confined_to int not null default 0,
  key varchar(255) not null,
  fingerprint varchar(64) not null,
  response bytea null,
  created_at timestamptz(3) not null,
  is_superuser boolean not null default false,
  is_staff boolean not null default false,
  admin_of int[] not null default '{}',
  checkpoint bytea null,
  primary key (user_id, confined_to, key)
);
create index idempotent_responses_created_at_index on idempotent_responses (created_at);
`;
