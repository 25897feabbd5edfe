import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Apps that log people in with OpenID Connect. */
export class Openid extends Migration {
  static readonly locks: Locks = {
    users: 'SHARE ROW EXCLUSIVE',
    apps: 'SHARE ROW EXCLUSIVE',
    sessions: 'SHARE ROW EXCLUSIVE',
    signing_keys: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`
      alter table signing_keys
        add column purpose varchar(12) not null default 'ticket',
        add constraint signing_keys_purpose_check check (purpose in ('ticket', 'openid-es256', 'openid-rs256'))`);
    this.addSql(`
      create table openid_apps (
        app_id varchar(8) primary key,
        redirect_uris text[] not null,
        post_logout_redirect_uris text[] not null default '{}',
        backchannel_logout_uri varchar(2048) not null default '',
        is_public boolean not null default false,
        requires_pkce boolean not null default true,
        claims text[] not null,
        is_pairwise boolean not null default false,
        signing_algorithm varchar(5) not null default 'RS256',
        secret_digest varchar(64) null,
        previous_digest varchar(64) null,
        previous_until timestamptz(3) null,
        created_at timestamptz(3) not null,
        constraint openid_apps_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);
    this.addSql(`
      create table openid_logins (
        id bigserial primary key,
        app_id varchar(8) not null,
        client_id int not null,
        user_id int not null,
        session_id bigint null,
        look_id bigint null,
        subject varchar(64) not null,
        sid varchar(43) not null,
        signing_algorithm varchar(5) not null,
        backchannel_logout_uri varchar(2048) not null,
        started_at timestamptz(3) not null,
        check_at timestamptz(3) not null,
        ended_at timestamptz(3) null,
        attempts int not null default 0,
        next_attempt_at timestamptz(3) null,
        delivered_at timestamptz(3) null,
        failed_at timestamptz(3) null,
        status int null,
        error varchar(500) null,
        constraint openid_logins_user_id_foreign foreign key (user_id) references users (id) on delete cascade,
        constraint openid_logins_session_id_foreign foreign key (session_id) references sessions (id) on delete set null
      )`);
    this.addSql('create index openid_logins_user_id_index on openid_logins (user_id)');
    this.addSql('create index openid_logins_session_id_index on openid_logins (session_id)');
    this.addSql(`
      create unique index openid_logins_of_session on openid_logins (session_id, app_id, coalesce(look_id, 0))
        where ended_at is null`);
    this.addSql('create index openid_logins_to_check on openid_logins (check_at) where ended_at is null');
    this.addSql(
      'create index openid_logins_orphaned on openid_logins (id) where ended_at is null and session_id is null',
    );
    this.addSql(
      'create index openid_logins_due on openid_logins (next_attempt_at) where next_attempt_at is not null',
    );
    this.addSql('create index openid_logins_ended on openid_logins (ended_at) where ended_at is not null');
    this.addSql('create index openid_logins_by_app on openid_logins (app_id, id)');
    this.addSql('create index openid_logins_by_client on openid_logins (client_id) where ended_at is null');
    this.addSql(`
      create table openid_tokens (
        digest varchar(64) primary key,
        login_id bigint not null,
        kind text not null,
        payload json not null,
        consumed_at timestamptz(3) null,
        expires_at timestamptz(3) not null,
        constraint openid_tokens_kind_check check (kind in ('AuthorizationCode', 'AccessToken', 'RefreshToken')),
        constraint openid_tokens_login_id_foreign foreign key (login_id) references openid_logins (id) on delete cascade
      )`);
    this.addSql('create index openid_tokens_login_id_index on openid_tokens (login_id)');
    this.addSql('create index openid_tokens_expires_at_index on openid_tokens (expires_at)');
    this.addSql(`
      create table openid_consents (
        user_id int not null,
        app_id varchar(8) not null,
        claims text[] not null,
        created_at timestamptz(3) not null,
        primary key (user_id, app_id),
        constraint openid_consents_user_id_foreign foreign key (user_id) references users (id) on delete cascade,
        constraint openid_consents_app_id_foreign foreign key (app_id) references apps (id) on delete cascade
      )`);
    this.addSql('create index openid_consents_app_id_index on openid_consents (app_id)');
  }
}
