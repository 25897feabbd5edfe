import { Migration } from '@mikro-orm/migrations';

/** What an offboarding has ended beside grants, for its undo. */
export class Offboarding extends Migration {
  override up(): void {
    this.addSql(`alter table operation_changes add column ended json`);
  }
}
