import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Finds the usage of one user in all apps. */
export class UsageByEmail extends Migration {
  static readonly locks: Locks = { usage_entries: 'SHARE' };

  override up(): void {
    this.addSql(`
      create index usage_entries_email_occurred_at_id_index on usage_entries (email, occurred_at, id)`);
  }
}
