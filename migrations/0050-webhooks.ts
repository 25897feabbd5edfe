import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Webhooks with their deliveries, and the mail about one that was disabled. No row is written. */
export class Webhooks extends Migration {
  static readonly locks: Locks = { clients: 'SHARE ROW EXCLUSIVE', outbox_mails: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table webhooks (
        id serial primary key,
        client_id int null,
        url varchar(2048) not null,
        types text[] not null default '{}',
        description varchar(200) not null default '',
        is_active boolean not null default true,
        sealed_secret bytea null,
        previous_secret bytea null,
        previous_until timestamptz(3) null,
        disabled_at timestamptz(3) null,
        disabled_reason text null constraint webhooks_disabled_reason_check
          check (disabled_reason in ('gone', 'failing')),
        failing_since timestamptz(3) null,
        created_by int null,
        created_at timestamptz(3) not null,
        constraint webhooks_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
      )`);
    this.addSql('create index webhooks_client_id_index on webhooks (client_id)');

    this.addSql(`
      create table webhook_deliveries (
        webhook_id int not null,
        event_id bigint not null,
        type varchar(64) not null,
        subject bigint not null,
        queued_at timestamptz(3) not null,
        attempts int not null default 0,
        last_attempt_at timestamptz(3) null,
        next_attempt_at timestamptz(3) null,
        claimed_until timestamptz(3) null,
        delivered_at timestamptz(3) null,
        failed_at timestamptz(3) null,
        status int null,
        duration_ms int null,
        response varchar(1024) null,
        error varchar(500) null,
        body json null,
        primary key (webhook_id, event_id),
        constraint webhook_deliveries_webhook_id_foreign foreign key (webhook_id)
          references webhooks (id) on delete cascade
      )`);
    this.addSql(`
      create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at, event_id)
        where next_attempt_at is not null and delivered_at is null and failed_at is null`);
    this.addSql(`
      create index webhook_deliveries_by_subject on webhook_deliveries (webhook_id, subject, event_id)
        where delivered_at is null and failed_at is null`);
    this.addSql(`
      create index webhook_deliveries_claimed on webhook_deliveries (webhook_id, claimed_until)
        where claimed_until is not null`);
    this.addSql(`
      create index webhook_deliveries_finished on webhook_deliveries (coalesce(delivered_at, failed_at))
        where coalesce(delivered_at, failed_at) is not null`);

    this.addSql(`
      alter table outbox_mails add column webhook_id int null,
        add constraint outbox_mails_webhook_id_foreign foreign key (webhook_id)
          references webhooks (id) on delete set null,
        drop constraint outbox_mails_kind_check, add constraint outbox_mails_kind_check
        check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins',
          'password-expiry', 'email-confirmation', 'email-changed', 'access-requested', 'access-decided',
          'second-factor-added', 'second-factor-removed', 'second-factor-reset', 'recovery-code-used',
          'failed-codes', 'passkey-added', 'passkey-removed', 'second-factor-required', 'second-factor-reminder',
          'password-renewal', 'identity-linked', 'webhook-disabled'))`);
    this.addSql(`
      create index outbox_mails_webhook_id_index on outbox_mails (webhook_id) where webhook_id is not null`);
  }
}
