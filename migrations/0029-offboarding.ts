import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** What an offboarding has ended beside grants, for its undo. */
export class Offboarding extends Migration {
  static readonly locks: Locks = { operation_changes: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`alter table operation_changes add column ended json`);
  }
}
