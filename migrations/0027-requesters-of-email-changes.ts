import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Who requested a change of an address, to check at its confirmation that they still may. */
export class RequestersOfEmailChanges extends Migration {
  static readonly locks: Locks = { email_changes: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql('alter table email_changes add column requested_by int null');
  }
}
