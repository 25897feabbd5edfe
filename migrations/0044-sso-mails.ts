import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Mails about single sign-on that was connected to an account, or has ended for it. No row is written. */
export class SsoMails extends Migration {
  static readonly locks: Locks = { outbox_mails: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      alter table outbox_mails drop constraint outbox_mails_kind_check, add constraint outbox_mails_kind_check
        check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins',
          'password-expiry', 'email-confirmation', 'email-changed', 'access-requested', 'access-decided',
          'second-factor-added', 'second-factor-removed', 'second-factor-reset', 'recovery-code-used',
          'failed-codes', 'passkey-added', 'passkey-removed', 'second-factor-required', 'second-factor-reminder',
          'password-renewal', 'identity-linked'))`);
  }
}
