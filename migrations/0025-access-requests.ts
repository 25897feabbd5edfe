import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Apps that people may ask for, their requests, and mails about these. No row is written. */
export class AccessRequests extends Migration {
  static readonly locks: Locks = {
    apps: 'ACCESS EXCLUSIVE',
    outbox_mails: 'ACCESS EXCLUSIVE',
    users: 'SHARE ROW EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`alter table apps add column is_requestable boolean not null default false`);
    this.addSql(`
      create table access_requests (
        id serial primary key,
        user_id int not null,
        app_id varchar(8) not null,
        reason varchar(500) not null default '',
        days int null constraint access_requests_days_check check (days > 0),
        status text not null default 'pending' constraint access_requests_status_check
          check (status in ('pending', 'approved', 'denied', 'withdrawn', 'closed')),
        version int not null default 1,
        created_at timestamptz(3) not null,
        decided_at timestamptz(3) null,
        decided_by int null,
        decision_reason varchar(500) not null default '',
        expires_at timestamptz(3) null,
        constraint access_requests_user_id_foreign foreign key (user_id) references users (id) on delete cascade,
        constraint access_requests_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);
    this.addSql(
      `create unique index access_requests_one_pending on access_requests (user_id, app_id) where status = 'pending'`,
    );
    this.addSql(`create index access_requests_user_id_id_index on access_requests (user_id, id)`);
    this.addSql(`create index access_requests_app_id_id_index on access_requests (app_id, id)`);

    this.addSql(`
      alter table outbox_mails add column access_request_id int null,
        add constraint outbox_mails_access_request_id_foreign foreign key (access_request_id)
          references access_requests (id) on delete set null,
        drop constraint outbox_mails_kind_check, add constraint outbox_mails_kind_check
        check (kind in ('invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins',
          'password-expiry', 'email-confirmation', 'email-changed', 'access-requested', 'access-decided'))`);
    this.addSql(`create index outbox_mails_access_request_id_index on outbox_mails (access_request_id)`);
  }
}
