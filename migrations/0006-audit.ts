import { Migration } from '@mikro-orm/migrations';

/** The append-only audit trail. */
export class Audit extends Migration {
  override up(): void {
    this.addSql(`
      create table audit_entries (
        id bigserial primary key,
        occurred_at timestamptz(3) not null,
        action varchar(64) not null,
        actor_email varchar(254) not null default '',
        target varchar(255) not null default '',
        client_ids int[] not null default '{}',
        details json not null default '{}',
        request_id varchar(128) null,
        address varchar(45) null
      )`);
    this.addSql(`create index audit_entries_occurred_at_id_index on audit_entries (occurred_at, id)`);
    for (const column of ['action', 'actor_email', 'target']) {
      const name = `audit_entries_${column}_occurred_at_id_index`;
      this.addSql(`create index ${name} on audit_entries (${column}, occurred_at, id)`);
    }
    this.addSql(`create index audit_entries_client_ids on audit_entries using gin (client_ids)`);

    this.addSql(`
      create function audit_entries_append_only_fn() returns trigger language plpgsql as $$
      begin raise exception 'The audit trail is append-only.'; end $$`);
    this.addSql(`
      create trigger append_only before update or delete on audit_entries
      for each statement execute function audit_entries_append_only_fn()`);
    // A separate trigger, because the ORM does not support this event.
    this.addSql(`
      create trigger append_only_truncate before truncate on audit_entries
      for each statement execute function audit_entries_append_only_fn()`);
  }
}
