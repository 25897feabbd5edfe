import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Second factors, recovery codes, logins that wait for them, and mails about these. No row is written. */
export class SecondFactors extends Migration {
  static readonly locks: Locks = { outbox_mails: 'ACCESS EXCLUSIVE', users: 'SHARE ROW EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table mfa_factors (
        id bigserial primary key,
        user_id int not null,
        kind text not null constraint mfa_factors_kind_check check (kind in ('totp')),
        name varchar(100) not null,
        sealed_secret bytea not null,
        created_at timestamptz(3) not null,
        confirmed_at timestamptz(3) null,
        last_used_at timestamptz(3) null,
        last_step int null,
        constraint mfa_factors_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index mfa_factors_user_id_index on mfa_factors (user_id)`);
    this.addSql(
      `create unique index mfa_factors_unconfirmed on mfa_factors (user_id) where confirmed_at is null`,
    );
    this.addSql(`create index mfa_factors_started on mfa_factors (created_at) where confirmed_at is null`);

    this.addSql(`
      create table recovery_codes (
        id bigserial primary key,
        user_id int not null,
        digest varchar(64) not null,
        used_at timestamptz(3) null,
        constraint recovery_codes_digest_unique unique (digest),
        constraint recovery_codes_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index recovery_codes_user_id_index on recovery_codes (user_id)`);

    this.addSql(`
      create table login_challenges (
        id bigserial primary key,
        user_id int not null,
        digest varchar(64) not null,
        first_step text not null constraint login_challenges_first_step_check check (first_step in ('password')),
        created_at timestamptz(3) not null,
        expires_at timestamptz(3) not null,
        used_at timestamptz(3) null,
        attempts int not null default 0,
        constraint login_challenges_digest_unique unique (digest),
        constraint login_challenges_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index login_challenges_user_id_index on login_challenges (user_id)`);
    this.addSql(`create index login_challenges_expires_at_index on login_challenges (expires_at)`);

    this.addSql(`
      alter table outbox_mails drop constraint outbox_mails_kind_check, add constraint outbox_mails_kind_check
        check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins',
          'password-expiry', 'email-confirmation', 'email-changed', 'access-requested', 'access-decided',
          'second-factor-added', 'second-factor-removed', 'second-factor-reset', 'recovery-code-used',
          'failed-codes'))`);
  }
}
