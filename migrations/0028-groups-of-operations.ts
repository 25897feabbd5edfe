import { Migration } from '@mikro-orm/migrations';

/** The groups that a bulk update has added people to, for its undo. */
export class GroupsOfOperations extends Migration {
  override up(): void {
    this.addSql(`alter table operation_changes add column groups int[] not null default '{}'`);
  }
}
