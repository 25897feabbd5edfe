/** Invitations, reminders, and what is sent: mails and webhooks. */
export const SENDING = `
create table invitations (
  id serial primary key,
  client_id int not null,
  email varchar(254) not null,
  key varchar(64) not null,
  inviter_id int not null,
  extra json not null default '{}',
  is_demo_user boolean not null default false,
  status text not null default 'pending',
  date_invited timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  closed_at timestamptz(3) null,
  email_count int not null default 0,
  apps_expire_at timestamptz(3) null,
  first_name varchar(150) not null default '',
  last_name varchar(150) not null default '',
  is_link_shown boolean not null default false,
  reminded_at timestamptz(3) null,
  user_id int null,
  constraint invitations_key_unique unique (key),
  constraint invitations_email_check check (email = lower(email) and email <> ''),
  constraint invitations_email_count_check check (email_count >= 0),
  constraint invitations_status_check check (status in ('pending', 'accepted', 'expired', 'revoked')),
  constraint invitations_client_id_foreign foreign key (client_id) references clients (id) on delete cascade,
  constraint invitations_inviter_id_foreign foreign key (inviter_id) references users (id) on delete restrict
);
create index invitations_client_id_id_index on invitations (client_id, id);
create index invitations_email_index on invitations (email);
create index invitations_inviter_id_id_index on invitations (inviter_id, id);
create index invitations_user_id_index on invitations (user_id);
create unique index invitations_one_pending on invitations (client_id, email) where status = 'pending';
create index invitations_pending_expiry on invitations (expires_at) where status = 'pending';

create table invitation_apps (
  invitation_id int not null,
  app_id varchar(8) not null,
  primary key (invitation_id, app_id),
  constraint invitation_apps_app_id_foreign foreign key (app_id) references apps (id) on delete cascade,
  constraint invitation_apps_invitation_id_foreign foreign key (invitation_id) references invitations (id) on delete cascade
);
create index invitation_apps_app_id_index on invitation_apps (app_id);

create table invitation_groups (
  invitation_id int not null,
  group_id int not null,
  primary key (invitation_id, group_id),
  constraint invitation_groups_group_id_foreign foreign key (group_id) references groups (id) on delete cascade,
  constraint invitation_groups_invitation_id_foreign foreign key (invitation_id) references invitations (id) on delete cascade
);
create index invitation_groups_group_id_index on invitation_groups (group_id);

create table client_reminders (
  client_id int primary key,
  access_days int not null default 0,
  access_admins boolean not null default false,
  invitation_days int not null default 0,
  inactive_days int not null default 0,
  suspend_days int not null default 0,
  weekly_digest boolean not null default false,
  inactive_since timestamptz(3) null,
  access_told_until timestamptz(3) null,
  digest_for timestamptz(3) null,
  constraint client_reminders_access_days_check check (access_days between 0 and 90),
  constraint client_reminders_inactive_days_check check (inactive_days = 0 or inactive_days between 14 and 3650),
  constraint client_reminders_invitation_days_check check (invitation_days between 0 and 90),
  constraint client_reminders_suspend_days_check check (suspend_days = 0 or suspend_days between 7 and 365),
  constraint client_reminders_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
);

create table webhooks (
  id serial primary key,
  client_id int null,
  url varchar(2048) not null,
  types text[] not null default '{}',
  description varchar(200) not null default '',
  is_active boolean not null default true,
  sealed_secret bytea null,
  previous_secret bytea null,
  previous_until timestamptz(3) null,
  disabled_at timestamptz(3) null,
  disabled_reason text null,
  failing_since timestamptz(3) null,
  created_by int null,
  created_at timestamptz(3) not null,
  retry_at timestamptz(3) null,
  constraint webhooks_disabled_reason_check check (disabled_reason in ('gone', 'failing')),
  constraint webhooks_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
);
create index webhooks_client_id_index on webhooks (client_id);

create table outbox_mails (
  id bigserial primary key,
  kind text not null,
  recipient varchar(254) not null,
  client_id int null,
  invitation_id int null,
  user_id int null,
  password_link_id bigint null,
  request_address varchar(45) null,
  created_at timestamptz(3) not null,
  attempts int not null default 0,
  last_attempt_at timestamptz(3) null,
  next_attempt_at timestamptz(3) not null,
  last_error varchar(500) null,
  sent_at timestamptz(3) null,
  failed_at timestamptz(3) null,
  traceparent varchar(55) null,
  operation_id uuid null,
  email_change_id bigint null,
  access_request_id int null,
  variables jsonb null,
  webhook_id int null,
  constraint outbox_mails_kind_check check (kind in (
    'invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins', 'password-expiry', 'email-confirmation',
    'email-changed', 'access-requested', 'access-decided', 'second-factor-added', 'second-factor-removed', 'second-factor-reset',
    'recovery-code-used', 'failed-codes', 'passkey-added', 'passkey-removed', 'second-factor-required', 'second-factor-reminder',
    'password-renewal', 'identity-linked', 'webhook-disabled', 'access-ending', 'access-ending-report', 'invitation-reminder',
    'inactivity-warning', 'weekly-digest')),
  constraint outbox_mails_access_request_id_foreign foreign key (access_request_id) references access_requests (id) on delete set null,
  constraint outbox_mails_client_id_foreign foreign key (client_id) references clients (id) on delete cascade,
  constraint outbox_mails_email_change_id_foreign foreign key (email_change_id) references email_changes (id) on delete set null,
  constraint outbox_mails_invitation_id_foreign foreign key (invitation_id) references invitations (id) on delete cascade,
  constraint outbox_mails_password_link_id_foreign foreign key (password_link_id) references password_links (id) on delete set null,
  constraint outbox_mails_user_id_foreign foreign key (user_id) references users (id) on delete cascade,
  constraint outbox_mails_webhook_id_foreign foreign key (webhook_id) references webhooks (id) on delete set null
);
create index outbox_mails_access_request_id_index on outbox_mails (access_request_id) where access_request_id is not null;
create index outbox_mails_client_id_id_index on outbox_mails (client_id, id);
create index outbox_mails_due on outbox_mails ((kind = 'invitation'), next_attempt_at, id) where sent_at is null and failed_at is null;
create index outbox_mails_email_change_id_index on outbox_mails (email_change_id) where email_change_id is not null;
create index outbox_mails_failed on outbox_mails (id) where failed_at is not null;
create index outbox_mails_invitation_id_index on outbox_mails (invitation_id);
create unique index outbox_mails_operation on outbox_mails (operation_id, recipient, coalesce(invitation_id, 0)) where operation_id is not null;
create index outbox_mails_password on outbox_mails (recipient, created_at) where kind in ('password-setup', 'password-reset');
create index outbox_mails_password_link_id_index on outbox_mails (password_link_id) where password_link_id is not null;
create index outbox_mails_recipient_id_index on outbox_mails (recipient, id);
create index outbox_mails_user_id_index on outbox_mails (user_id) where user_id is not null;
create index outbox_mails_webhook_id_index on outbox_mails (webhook_id) where webhook_id is not null;

create table webhook_deliveries (
  webhook_id int not null,
  event_id bigint not null,
  type varchar(64) not null,
  subject bigint not null,
  queued_at timestamptz(3) not null,
  attempts int not null default 0,
  last_attempt_at timestamptz(3) null,
  next_attempt_at timestamptz(3) null,
  claimed_until timestamptz(3) null,
  delivered_at timestamptz(3) null,
  failed_at timestamptz(3) null,
  status int null,
  duration_ms int null,
  response varchar(1024) null,
  error varchar(500) null,
  body json null,
  primary key (webhook_id, event_id),
  constraint webhook_deliveries_webhook_id_foreign foreign key (webhook_id) references webhooks (id) on delete cascade
);
create index webhook_deliveries_by_subject on webhook_deliveries (webhook_id, subject, event_id) where delivered_at is null and failed_at is null;
create index webhook_deliveries_claimed on webhook_deliveries (webhook_id, claimed_until) where claimed_until is not null;
create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at, event_id) where next_attempt_at is not null and delivered_at is null and failed_at is null;
create index webhook_deliveries_finished on webhook_deliveries (coalesce(delivered_at, failed_at)) where coalesce(delivered_at, failed_at) is not null;

-- Wakes the worker.
create function outbox_mails_notify_fn() returns trigger language plpgsql as $$
  begin perform pg_notify('outbox_mails', ''); return null; end
$$;
create trigger notify after insert on outbox_mails
for each statement execute function outbox_mails_notify_fn();
`;
