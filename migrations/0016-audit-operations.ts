import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Finds the entries of an operation, so that the audit trail can list operations instead of entries. */
export class AuditOperations extends Migration {
  static readonly locks: Locks = { audit_entries: 'SHARE' };

  override up(): void {
    this.addSql(`
      create index audit_entries_operation on audit_entries (coalesce(
        (details ->> 'operation') || coalesce(details ->> 'is_undo', ''),
        request_id || ' ' || floor(extract(epoch from occurred_at at time zone 'UTC') / 60)::bigint::text
          || ' ' || coalesce(actor_id::text, '')), occurred_at, id)`);
  }
}
