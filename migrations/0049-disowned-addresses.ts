import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Former addresses of an account that may be those of others, although their mailbox was verified. */
export class DisownedAddresses extends Migration {
  static readonly locks: Locks = { email_changes: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`alter table email_changes add column is_disowned boolean not null default false`);
  }
}
