import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Passkeys, which are second factors too, the challenges that they have answered, and mails about them. No row is written. */
export class Passkeys extends Migration {
  static readonly locks: Locks = { mfa_factors: 'ACCESS EXCLUSIVE', outbox_mails: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      alter table mfa_factors
        alter column sealed_secret drop not null,
        add column challenge varchar(43) null,
        drop constraint mfa_factors_kind_check,
        add constraint mfa_factors_kind_check check (kind in ('totp', 'passkey')),
        add constraint mfa_factors_secret_check check (kind <> 'totp' or sealed_secret is not null)`);

    this.addSql(`
      create table passkeys (
        factor_id bigint primary key,
        credential_id varchar(1364) not null,
        public_key bytea not null,
        user_handle varchar(43) not null,
        sign_count bigint not null,
        transports text[] not null default '{}',
        is_backed_up boolean not null,
        aaguid uuid not null,
        constraint passkeys_credential_id_unique unique (credential_id),
        constraint passkeys_factor_id_foreign foreign key (factor_id) references mfa_factors (id) on delete cascade
      )`);

    this.addSql(`
      create table answered_challenges (
        digest varchar(64) primary key,
        expires_at timestamptz(3) not null
      )`);
    this.addSql(`create index answered_challenges_expires_at_index on answered_challenges (expires_at)`);

    this.addSql(`
      alter table outbox_mails drop constraint outbox_mails_kind_check, add constraint outbox_mails_kind_check
        check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins',
          'password-expiry', 'email-confirmation', 'email-changed', 'access-requested', 'access-decided',
          'second-factor-added', 'second-factor-removed', 'second-factor-reset', 'recovery-code-used',
          'failed-codes', 'passkey-added', 'passkey-removed'))`);
  }
}
