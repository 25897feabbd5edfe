import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** The index that finds the last day on which a user used any app. */
export class LastUse extends Migration {
  static readonly locks: Locks = { usage_days: 'SHARE' };

  override up(): void {
    this.addSql(`create index usage_days_email_day_index on usage_days (email, day)`);
  }
}
