import { Migration } from '@mikro-orm/migrations';

/** Finds the usage of one user in all apps. */
export class UsageByEmail extends Migration {
  override up(): void {
    this.addSql(`
      create index usage_entries_email_occurred_at_id_index on usage_entries (email, occurred_at, id)`);
  }
}
