import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Invitations and the mail outbox. */
export class InvitationsAndMail extends Migration {
  static readonly locks: Locks = {
    apps: 'SHARE ROW EXCLUSIVE',
    clients: 'SHARE ROW EXCLUSIVE',
    password_links: 'SHARE ROW EXCLUSIVE',
    users: 'SHARE ROW EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`
      create table invitations (
        id serial primary key,
        client_id int not null,
        email varchar(254) not null,
        key varchar(64) not null,
        inviter_id int not null,
        extra json not null default '{}',
        is_demo_user boolean not null default false,
        status text not null default 'pending',
        date_invited timestamptz(3) not null,
        expires_at timestamptz(3) not null,
        closed_at timestamptz(3) null,
        email_count int not null default 0,
        constraint invitations_key_unique unique (key),
        constraint invitations_email_check check (email = lower(email) and email <> ''),
        constraint invitations_email_count_check check (email_count >= 0),
        constraint invitations_status_check check (status in ('pending', 'accepted', 'expired', 'revoked')),
        constraint invitations_client_id_foreign foreign key (client_id) references clients (id) on delete cascade,
        constraint invitations_inviter_id_foreign foreign key (inviter_id) references users (id) on delete restrict
      )`);
    this.addSql(`
      create unique index invitations_one_pending on invitations (client_id, email) where status = 'pending'`);
    this.addSql(`
      create index invitations_pending_email on invitations (email) where status = 'pending'`);
    this.addSql(`create index invitations_inviter_id_id_index on invitations (inviter_id, id)`);
    this.addSql(`create index invitations_client_id_id_index on invitations (client_id, id)`);

    this.addSql(`
      create table invitation_apps (
        invitation_id int not null,
        app_id varchar(8) not null,
        primary key (invitation_id, app_id),
        constraint invitation_apps_invitation_id_foreign foreign key (invitation_id) references invitations (id) on delete cascade,
        constraint invitation_apps_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);
    this.addSql(`create index invitation_apps_app_id_index on invitation_apps (app_id)`);

    this.addSql(`
      create table outbox_mails (
        id bigserial primary key,
        kind text not null,
        recipient varchar(254) not null,
        client_id int null,
        invitation_id int null,
        user_id int null,
        password_link_id bigint null,
        request_address varchar(45) null,
        created_at timestamptz(3) not null,
        attempts int not null default 0,
        last_attempt_at timestamptz(3) null,
        next_attempt_at timestamptz(3) not null default now(),
        last_error varchar(500) null,
        sent_at timestamptz(3) null,
        failed_at timestamptz(3) null,
        constraint outbox_mails_kind_check check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed')),
        constraint outbox_mails_client_id_foreign foreign key (client_id) references clients (id) on delete cascade,
        constraint outbox_mails_invitation_id_foreign foreign key (invitation_id) references invitations (id) on delete cascade,
        constraint outbox_mails_user_id_foreign foreign key (user_id) references users (id) on delete cascade,
        constraint outbox_mails_password_link_id_foreign foreign key (password_link_id) references password_links (id) on delete set null
      )`);
    this.addSql(`create index outbox_mails_client_id_id_index on outbox_mails (client_id, id)`);
    for (const column of ['invitation_id', 'user_id', 'password_link_id', 'last_attempt_at']) {
      this.addSql(`create index outbox_mails_${column}_index on outbox_mails (${column})`);
    }
    this.addSql(`
      create index outbox_mails_due on outbox_mails ((kind = 'invitation'), next_attempt_at, id)
      where sent_at is null and failed_at is null`);
    this.addSql(`
      create index outbox_mails_invited on outbox_mails (client_id, recipient, created_at) where kind = 'invitation'`);

    this.addSql(`
      create function outbox_mails_notify_fn() returns trigger language plpgsql as $$
      begin perform pg_notify('outbox_mails', ''); return null; end $$`);
    this.addSql(`
      create trigger notify after insert on outbox_mails
      for each statement execute function outbox_mails_notify_fn()`);
  }
}
