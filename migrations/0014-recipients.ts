import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Indexes for the mails and invitations of one address. */
export class Recipients extends Migration {
  static readonly locks: Locks = { invitations: 'SHARE', outbox_mails: 'SHARE' };

  override up(): void {
    this.addSql(`create index outbox_mails_recipient_id_index on outbox_mails (recipient, id)`);
    this.addSql(`create index invitations_email_index on invitations (email)`);
  }
}
