import { Migration } from '@mikro-orm/migrations';

const PLACES = Array.from({ length: 30 }, (_, index) => `count(*) filter (where absent > ${index})`);

/** The usage log by app and time, and its rollups: by person, app and stack for each day, and ready windows. */
export class UsageRollups extends Migration {
  override up(): void {
    this.addSql(`alter table usage_entries drop constraint usage_entries_app_id_foreign`);
    this.addSql(`alter table usage_entries drop constraint usage_entries_pkey`);
    this.addSql(`drop index usage_entries_app_id_occurred_at_id_index`);
    this.addSql(`drop index usage_entries_email_app_id_occurred_at_index`);
    this.addSql(`alter table usage_entries add primary key (app_id, occurred_at, id)`);
    this.addSql(`
      alter table usage_entries
        add column entry_key varchar(128) null,
        add column stack varchar(255) null`);
    this.addSql(`
      create index usage_entries_app_id_email_occurred_at_id_index on usage_entries (app_id, email, occurred_at, id)`);
    this.addSql(`
      create unique index usage_entries_entry_key on usage_entries (app_id, entry_key, occurred_at)
      where entry_key is not null`);
    // A NUL anywhere in it makes the whole object unreadable to the operators of json.
    this.addSql(`
      update usage_entries set stack = case
        when extra::text like '%\\u0000%' or json_typeof(extra -> 'stack') <> 'string' then null
        when char_length(extra ->> 'stack') between 1 and 255 then extra ->> 'stack'
      end`);

    this.addSql(`alter table usage_days rename to usage_days_before`);
    this.addSql(`alter table usage_days_before rename constraint usage_days_pkey to usage_days_before_pkey`);
    this.addSql(`
      create table usage_days (
        app_id varchar(8) not null,
        email varchar(254) not null,
        day date not null,
        actions int not null,
        primary key (app_id, email, day),
        constraint usage_days_actions_check check (actions > 0)
      ) partition by range (day)`);
    this.addSql(`
      do $$
      declare month date;
      begin
        for month in select distinct date_trunc('month', day)::date from usage_days_before loop
          execute format('create table %I partition of usage_days for values from (%L) to (%L)',
            'usage_days_' || to_char(month, 'YYYY_MM'), month, (month + interval '1 month')::date);
        end loop;
      end $$`);
    this.addSql(`
      insert into usage_days (app_id, email, day, actions)
      select app_id, email, day, actions from usage_days_before`);
    this.addSql(`drop table usage_days_before`);

    this.addSql(`
      create table usage_app_days (
        app_id varchar(8) not null,
        day date not null,
        actions bigint not null,
        retention_histogram int[] not null,
        primary key (app_id, day),
        constraint usage_app_days_actions_check check (actions >= 0),
        constraint usage_app_days_retention_histogram_check check (cardinality(retention_histogram) = 30),
        constraint usage_app_days_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);
    this.addSql(`
      insert into usage_app_days (app_id, day, actions, retention_histogram)
      select app_id, day, sum(actions), array[${PLACES.join(', ')}]
      from (
        select app_id, day, actions,
          coalesce(least(day - lag(day) over (partition by app_id, email order by day), 30), 30) as absent
        from usage_days
      ) as days
      group by app_id, day`);

    this.addSql(`
      create table usage_stack_days (
        app_id varchar(8) not null,
        day date not null,
        stack varchar(255) not null,
        actions bigint not null,
        primary key (app_id, day, stack),
        constraint usage_stack_days_actions_check check (actions > 0),
        constraint usage_stack_days_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);
    this.addSql(`
      insert into usage_stack_days (app_id, day, stack, actions)
      select app_id, (occurred_at at time zone 'UTC')::date, stack, count(*)
      from usage_entries where stack is not null group by 1, 2, 3`);

    this.addSql(`
      create table usage_windows (
        app_id varchar(8) not null,
        day date not null,
        actions30 bigint not null,
        users30 int not null,
        actions60 bigint not null,
        users60 int not null,
        actions90 bigint not null,
        users90 int not null,
        primary key (app_id),
        constraint usage_windows_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);
    // Of a day long ago: the first reader brings them to the present one.
    this.addSql(`
      insert into usage_windows select distinct app_id, date '2000-01-01', 0, 0, 0, 0, 0, 0 from usage_app_days`);
  }
}
