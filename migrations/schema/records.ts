/** What is recorded: the audit trail with its events, usage, backups. */
export const RECORDS = `
create table audit_entries (
  id bigserial primary key,
  occurred_at timestamptz(3) not null,
  action varchar(64) not null,
  actor_type text null,
  actor_id int null,
  actor_label varchar(254) not null default '',
  target_type text null,
  target_id text null,
  target_label varchar(255) not null default '',
  client_ids int[] not null default '{}',
  details json not null default '{}',
  request_id varchar(128) null,
  address varchar(45) null
);
create index audit_entries_action_occurred_at_id_index on audit_entries (action, occurred_at, id);
create index audit_entries_actor_id_occurred_at_id_index on audit_entries (actor_id, occurred_at, id);
create index audit_entries_actor_label_occurred_at_id_index on audit_entries (actor_label, occurred_at, id);
create index audit_entries_client_ids on audit_entries using gin (client_ids);
create index audit_entries_occurred_at_id_index on audit_entries (occurred_at, id);
create index audit_entries_target_label_occurred_at_id_index on audit_entries (target_label, occurred_at, id);
create index audit_entries_target_type_target_id_occurred_at_id_index on audit_entries (target_type, target_id, occurred_at, id);

create table events (
  id bigserial primary key,
  entry_id bigint not null,
  constraint events_entry_id_unique unique (entry_id)
);

create table event_clients (
  client_id int not null,
  event_id bigint not null,
  action varchar(64) not null,
  primary key (client_id, event_id)
);
create index event_clients_client_id_action_event_id_index on event_clients (client_id, action, event_id);

create table unpublished_events (
  entry_id bigint primary key
);

create table event_sinks (
  name varchar(16) primary key,
  position bigint not null,
  attempts int not null default 0,
  next_attempt_at timestamptz(3) not null,
  failing_since timestamptz(3) null,
  last_error varchar(500) null,
  served_at timestamptz(3) not null
);

create table usage_entries (
  app_id varchar(8) not null,
  occurred_at timestamptz(3) not null,
  id bigserial,
  entry_key varchar(128) null,
  user_id int null,
  email varchar(254) not null,
  full_name varchar(301) not null default '',
  action varchar(64) not null,
  action_description text not null default '',
  stack varchar(255) null,
  extra json not null default '{}',
  primary key (app_id, occurred_at, id),
  constraint usage_entries_action_check check (action ~ '^[A-Z][A-Z0-9_]*$')
) partition by range (occurred_at);
create index usage_entries_app_id_user_id_occurred_at_id_index on usage_entries (app_id, user_id, occurred_at, id);
create index usage_entries_email_occurred_at_id_index on usage_entries (email, occurred_at, id);
create index usage_entries_user_id_occurred_at_id_index on usage_entries (user_id, occurred_at, id);
create unique index usage_entries_entry_key on usage_entries (app_id, entry_key, occurred_at) where entry_key is not null;

create table usage_days (
  app_id varchar(8) not null,
  user_id int not null default 0,
  email varchar(254) not null default '',
  day date not null,
  actions int not null,
  primary key (app_id, user_id, email, day),
  constraint usage_days_actions_check check (actions > 0)
) partition by range (day);
create index usage_days_user_id_email_day_index on usage_days (user_id, email, day);

create table usage_app_days (
  app_id varchar(8) not null,
  day date not null,
  actions bigint not null,
  retention_histogram int[] not null,
  primary key (app_id, day),
  constraint usage_app_days_actions_check check (actions >= 0),
  constraint usage_app_days_retention_histogram_check check (cardinality(retention_histogram) = 90),
  constraint usage_app_days_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
);

create table usage_stack_days (
  app_id varchar(8) not null,
  day date not null,
  stack varchar(255) not null,
  actions bigint not null,
  primary key (app_id, day, stack),
  constraint usage_stack_days_actions_check check (actions > 0),
  constraint usage_stack_days_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
);

create table usage_windows (
  app_id varchar(8) primary key,
  day date not null,
  actions30 bigint not null,
  users30 int not null,
  actions60 bigint not null,
  users60 int not null,
  actions90 bigint not null,
  users90 int not null,
  constraint usage_windows_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
);

create table backups (
  id bigserial primary key,
  target varchar(1024) not null,
  name varchar(100) not null,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3) null,
  failed_at timestamptz(3) null,
  error varchar(500) null,
  size_bytes bigint null,
  row_count bigint null,
  removed_at timestamptz(3) null
);
create index backups_started_at_index on backups (started_at);

create function events_clients_fn() returns trigger language plpgsql as $$
  begin insert into event_clients (client_id, event_id, action)
      select unnest(client_ids), new.id, action from audit_entries where id = new.entry_id
      on conflict do nothing;
    return null; end
$$;
create trigger clients after insert on events for each row execute function events_clients_fn();

create function audit_entries_append_only_fn() returns trigger language plpgsql as $$
  begin if tg_op = 'DELETE' then
        if old.occurred_at < nullif(current_setting('steward.audit_cutoff', true), '')::timestamptz then return old; end if;
      elsif tg_op = 'UPDATE' then
        if current_setting('steward.erasing', true) = 'on' and (
          to_jsonb(old) - array['actor_label', 'target_label', 'details', 'address']
          = to_jsonb(new) - array['actor_label', 'target_label', 'details', 'address']) then return new; end if;
      end if;
      raise exception 'The audit trail is append-only.'; end
$$;
create trigger append_only before update or delete on audit_entries
for each row execute function audit_entries_append_only_fn();
-- A separate trigger, because the ORM does not support this event.
create trigger append_only_truncate before truncate on audit_entries
for each statement execute function audit_entries_append_only_fn();
`;
