import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** When a member first opened an app. */
export class FirstOpened extends Migration {
  static readonly locks: Locks = { apps: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql('alter table apps add column first_opened_at timestamptz(3) null');
  }
}
