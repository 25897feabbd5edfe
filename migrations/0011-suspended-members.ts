import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Suspended members keep their apps, which do not count: each look-up of the apps of people excludes them. */
export class SuspendedMembers extends Migration {
  static readonly locks: Locks = { memberships: 'SHARE' };

  override up(): void {
    this.addSql(`
      create index memberships_suspended on memberships (user_id, client_id) where not is_active_member`);
  }
}
