import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/**
 * Memberships that each client changes for itself. No row is written: `joined_at` of older ones stays null. Queries of earlier versions
 * join `memberships` and `users`, and read `is_active` of users by this name alone.
 */
export class MembershipsOfClients extends Migration {
  static readonly locks: Locks = { memberships: 'ACCESS EXCLUSIVE', operation_changes: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      alter table memberships
        add column is_active_member boolean not null default true,
        add column extra json null,
        add column is_demo_user boolean null,
        add column joined_at timestamptz(3) null,
        add column ended_at timestamptz(3) null`);
    this.addSql(`alter table memberships alter column joined_at set default now()`);
    this.addSql(`alter table operation_changes add column members_of int[] not null default '{}'`);
  }
}
