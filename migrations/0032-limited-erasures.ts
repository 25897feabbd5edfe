import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/**
 * Erasures that concern some clients only; deactivations that nobody else may undo; invitations whose link not only their mailbox has; when
 * people have left a client; and addresses that the undo of a change reserves only if their mailbox is the person's.
 */
export class LimitedErasures extends Migration {
  static readonly locks: Locks = {
    erasures: 'ACCESS EXCLUSIVE',
    invitations: 'ACCESS EXCLUSIVE',
    memberships: 'ACCESS EXCLUSIVE',
    operation_changes: 'ACCESS EXCLUSIVE',
    users: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql(
      `alter table erasures add column client_ids int[], add column since timestamptz(3), add column until timestamptz(3)`,
    );
    this.addSql(
      `alter table operation_changes add column is_active_superseded boolean not null default false`,
    );
    // A name such as `null, 1` would match between the strings of JSON.
    this.addSql(`
      create function erased_json(value text, erasure erasures) returns text language plpgsql immutable as $$
      begin
        return erased_text(value, erasure)::json::text;
      exception when invalid_text_representation then
        return replace(value, erasure.address, erasure.pseudonym);
      end $$`);
    this.addSql(`
      create or replace function erased_audit_entry(entry audit_entries, erasure erasures) returns audit_entries
      language sql immutable as $$
        select entry.id, entry.occurred_at, entry.action,
          case when entry.actor_email = erasure.address then erasure.pseudonym else entry.actor_email end,
          case when entry.target = erasure.address then erasure.pseudonym
            else left(erased_text(entry.target, erasure), 255)::varchar end,
          entry.client_ids,
          case when entry.target = erasure.address then (
            select coalesce(json_object_agg(key, case when key in ('name', 'hash', 'first_name', 'last_name') then 'null'::json
              else erased_json(value::text, erasure)::json end), '{}') from json_each(entry.details))
          else erased_json(entry.details::text, erasure)::json end,
          entry.request_id,
          case when entry.actor_email = erasure.address or (entry.actor_email = '' and entry.target = erasure.address)
            then null else entry.address end
      $$`);
    this.addSql(
      `alter table users add column last_left timestamptz(3), add column shared_since timestamptz(3)`,
    );
    this.addSql(`alter table memberships add column reactivated_at timestamptz(3)`);
    // Whether the links of earlier ones were shown is not known.
    this.addSql(`alter table invitations add column is_link_shown boolean not null default true`);
    this.addSql(`alter table invitations alter column is_link_shown set default false`);
    this.addSql(`
      create or replace function users_email_reserved_fn() returns trigger language plpgsql as $$
      begin ${RESERVED}; end $$`);
  }
}

const RESERVED = `if exists (select from email_changes c where c.old_email = new.email and c.user_id <> new.id
          and c.changed_at is not null and (c.is_kept or c.was_verified and c.undo_until > now())) then
        raise exception 'The address is reserved for the person who had it before.'
          using errcode = 'unique_violation', constraint = 'users_email_unique';
      end if;
      return null`;
