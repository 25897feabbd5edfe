import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Columns of a mail that are null in most. */
const SELDOM_SET = ['user_id', 'password_link_id', 'email_change_id', 'access_request_id', 'last_attempt_at'];

/** Indexes that mails and invitations do not need: of nulls, and beside another index that finds the same rows. */
export class FewerIndexEntries extends Migration {
  static readonly locks: Locks = { invitations: 'ACCESS EXCLUSIVE', outbox_mails: 'ACCESS EXCLUSIVE' };

  override up(): void {
    for (const column of SELDOM_SET) {
      const name = `outbox_mails_${column}_index`;
      this.addSql(`drop index ${name}`);
      this.addSql(`create index ${name} on outbox_mails (${column}) where ${column} is not null`);
    }
    // An address has few mails and invitations.
    this.addSql(`drop index outbox_mails_invited`);
    this.addSql(`drop index invitations_pending_email`);
  }
}
