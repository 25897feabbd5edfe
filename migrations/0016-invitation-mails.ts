import { Migration } from '@mikro-orm/migrations';

/** Invitation mails are counted by client and address. */
export class InvitationMails extends Migration {
  override up(): void {
    this.addSql(`
      create index outbox_mails_invited on outbox_mails (client_id, recipient, created_at) where kind = 'invitation'`);
  }
}
