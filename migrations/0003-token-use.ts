import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** What API tokens are used for, who made them, and mails about their end. */
export class TokenUse extends Migration {
  static readonly locks: Locks = { api_tokens: 'ACCESS EXCLUSIVE', outbox_mails: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table token_uses (
        token_id bigint not null,
        procedure varchar(100) not null,
        scopes text[] not null,
        last_used_at timestamptz(3) not null,
        primary key (token_id, procedure),
        constraint token_uses_token_id_foreign foreign key (token_id) references api_tokens (id) on delete cascade
      )`);
    this.addSql(
      'alter table api_tokens add column created_by int null, add column reminded_days smallint null',
    );
    this.addSql(`
      alter table outbox_mails
        add column token_id bigint null,
        drop constraint outbox_mails_kind_check,
        add constraint outbox_mails_kind_check check (kind in (
            'invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins', 'password-expiry',
            'email-confirmation', 'email-changed', 'access-requested', 'access-decided', 'second-factor-added',
            'second-factor-removed', 'second-factor-reset', 'recovery-code-used', 'failed-codes', 'passkey-added',
            'passkey-removed', 'second-factor-required', 'second-factor-reminder', 'password-renewal', 'identity-linked',
            'webhook-disabled', 'access-ending', 'access-ending-report', 'invitation-reminder', 'inactivity-warning',
            'weekly-digest', 'token-ending')),
        add constraint outbox_mails_token_id_foreign foreign key (token_id) references api_tokens (id) on delete set null`);
    this.addSql(
      'create index outbox_mails_token_id_index on outbox_mails (token_id) where token_id is not null',
    );
  }
}
