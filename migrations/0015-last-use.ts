import { Migration } from '@mikro-orm/migrations';

/** The index that finds the last day on which a user used any app. */
export class LastUse extends Migration {
  override up(): void {
    this.addSql(`create index usage_days_email_day_index on usage_days (email, day)`);
  }
}
