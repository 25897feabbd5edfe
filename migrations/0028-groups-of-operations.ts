import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** The groups that a bulk update has added people to, for its undo. */
export class GroupsOfOperations extends Migration {
  static readonly locks: Locks = { operation_changes: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`alter table operation_changes add column groups int[] not null default '{}'`);
  }
}
