import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Looks at apps as another person. */
export class ViewAs extends Migration {
  static readonly locks: Locks = {
    users: 'SHARE ROW EXCLUSIVE',
    clients: 'ACCESS EXCLUSIVE',
    apps: 'ACCESS EXCLUSIVE',
    launch_codes: 'ACCESS EXCLUSIVE',
    outbox_mails: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`
      alter table clients
        add column help_desk_may_view_as boolean not null default false,
        add column mail_view_as boolean not null default false`);
    this.addSql('alter table apps add column view_as boolean not null default false');
    this.addSql(`
      create table view_as (
        id bigserial primary key,
        actor_id int not null,
        user_id int not null,
        app_id varchar(8) not null,
        client_id int not null,
        session_id bigint not null,
        reason varchar(500) not null,
        link_digest varchar(64) not null,
        cookie_digest varchar(64) null,
        begun_at timestamptz(3) not null,
        ends_at timestamptz(3) not null,
        ended_at timestamptz(3) null,
        constraint view_as_actor_id_foreign foreign key (actor_id) references users (id) on delete cascade,
        constraint view_as_user_id_foreign foreign key (user_id) references users (id) on delete cascade,
        constraint view_as_app_id_foreign foreign key (app_id) references apps (id) on delete cascade,
        constraint view_as_client_id_foreign foreign key (client_id) references clients (id) on delete cascade,
        constraint view_as_link_digest_unique unique (link_digest),
        constraint view_as_cookie_digest_unique unique (cookie_digest)
      )`);
    this.addSql('create index view_as_actor_id_index on view_as (actor_id)');
    this.addSql('create index view_as_app_id_index on view_as (app_id)');
    this.addSql('create index view_as_client_id_index on view_as (client_id)');
    this.addSql('create index view_as_running on view_as (ends_at) where ended_at is null');
    this.addSql('create index view_as_user_id_id_index on view_as (user_id, id)');
    this.addSql(`
      alter table launch_codes
        add column view_as_id bigint null,
        add constraint launch_codes_view_as_id_foreign foreign key (view_as_id) references view_as (id) on delete cascade`);
    this.addSql('create index launch_codes_view_as_id_index on launch_codes (view_as_id)');
    this.addSql(`
      alter table outbox_mails
        add column view_as_id bigint null,
        add constraint outbox_mails_view_as_id_foreign foreign key (view_as_id) references view_as (id) on delete set null,
        drop constraint outbox_mails_kind_check,
        add constraint outbox_mails_kind_check check (kind in (
          'invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins', 'password-expiry', 'email-confirmation',
          'email-changed', 'access-requested', 'access-decided', 'second-factor-added', 'second-factor-removed', 'second-factor-reset',
          'recovery-code-used', 'failed-codes', 'passkey-added', 'passkey-removed', 'second-factor-required', 'second-factor-reminder',
          'password-renewal', 'identity-linked', 'webhook-disabled', 'access-ending', 'access-ending-report', 'invitation-reminder',
          'inactivity-warning', 'weekly-digest', 'token-ending', 'viewed-as'))`);
    this.addSql(
      'create index outbox_mails_view_as_id_index on outbox_mails (view_as_id) where view_as_id is not null',
    );
  }
}
