import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** What was written into mails, so that a sent mail is shown as it was sent. Instances of the previous version leave it null. */
export class VariablesOfMails extends Migration {
  static readonly locks: Locks = { outbox_mails: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`alter table outbox_mails add column variables jsonb`);
  }
}
