import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Begin and end of the maintenance of apps. */
export class PlannedMaintenance extends Migration {
  static readonly locks: Locks = { apps: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      alter table apps
        add column maintenance_from timestamptz(3) null,
        add column maintenance_until timestamptz(3) null`);
  }
}
