import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Erasures of people, and what they and the retention of the audit trail may change in it. */
export class Erasures extends Migration {
  static readonly locks: Locks = { audit_entries: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table erasures (
        id serial primary key,
        user_id int not null,
        pseudonym varchar(254) not null,
        digest varchar(64) null,
        started_at timestamptz(3) not null,
        finished_at timestamptz(3) null,
        address varchar(254) null,
        pattern text null,
        needles text[] null,
        transaction_id text null,
        scanned_table varchar(63) null,
        scanned_block bigint not null default 0,
        constraint erasures_pseudonym_unique unique (pseudonym),
        constraint erasures_digest_unique unique (digest),
        constraint erasures_finished_check check ((finished_at is null) = (address is not null))
      )`);
    this.addSql(`create index erasures_unfinished on erasures (id) where finished_at is null`);

    this.addSql(`
      create function erased_text(value text, erasure erasures) returns text language sql immutable as $$
        select case when lower(value) like any (erasure.needles)
          then regexp_replace(value, erasure.pattern, erasure.pseudonym, 'gi') else value end
      $$`);
    // The pseudonym of an erased address, for what happened before the erasure, and as long as the address has neither an account
    // nor an invitation again; null for all others. A function, so that its plan is kept: as a subquery, it would be planned with
    // each statement.
    this.addSql(`
      create function pseudonym_of(of_address text, of_digest text, happened_at timestamptz) returns text
      language plpgsql stable as $$
      begin
        if of_digest is null then return null; end if;
        return (select e.pseudonym from erasures e where e.digest = of_digest and (happened_at <= e.started_at
          or not exists (select from users u where u.email = of_address)
          and not exists (select from invitations i where i.email = of_address and i.status = 'pending')));
      end $$`);
    // The names in the details of entries about the person, such as `first_name` or `hash`, become null. The
    // network address is that of the person in what they did, and in logins to their account.
    this.addSql(`
      create function erased_audit_entry(entry audit_entries, erasure erasures) returns audit_entries
      language sql immutable as $$
        select entry.id, entry.occurred_at, entry.action,
          case when entry.actor_email = erasure.address then erasure.pseudonym else entry.actor_email end,
          case when entry.target = erasure.address then erasure.pseudonym
            else left(erased_text(entry.target, erasure), 255)::varchar end,
          entry.client_ids,
          case when entry.target = erasure.address then (
            select coalesce(json_object_agg(key, case when key in ('name', 'hash', 'first_name', 'last_name') then 'null'::json
              else erased_text(value::text, erasure)::json end), '{}') from json_each(entry.details))
          else erased_text(entry.details::text, erasure)::json end,
          entry.request_id,
          case when entry.actor_email = erasure.address or (entry.actor_email = '' and entry.target = erasure.address)
            then null else entry.address end
      $$`);

    this.addSql(`drop trigger append_only on audit_entries`);
    this.addSql(`
      create or replace function audit_entries_append_only_fn() returns trigger language plpgsql as $$
      begin ${APPEND_ONLY} end $$`);
    this.addSql(`
      create trigger append_only before update or delete on audit_entries
      for each row execute function audit_entries_append_only_fn()`);
  }
}

const APPEND_ONLY = `if tg_op = 'DELETE' then
        if old.occurred_at < nullif(current_setting('steward.audit_cutoff', true), '')::timestamptz then return old; end if;
      elsif tg_op = 'UPDATE' then
        if exists (select from erasures e where e.finished_at is null
          and new::text = erased_audit_entry(old, e)::text) then return new; end if;
      end if;
      raise exception 'The audit trail is append-only.';`;
