import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Indexes for what needs the attention of administrators. */
export class Attention extends Migration {
  static readonly locks: Locks = { invitations: 'SHARE', outbox_mails: 'SHARE', users: 'SHARE' };

  override up(): void {
    this.addSql(`create index outbox_mails_failed on outbox_mails (id) where failed_at is not null`);
    this.addSql(`
      create index invitations_pending_expiry on invitations (expires_at) where status = 'pending'`);
    this.addSql(`
      create index users_password_age on users (last_password_set, id)
      where is_active and password_hash is not null`);
  }
}
