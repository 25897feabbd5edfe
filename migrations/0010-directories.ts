import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Directories that provision the people of clients. */
export class Directories extends Migration {
  static readonly locks: Locks = {
    clients: 'SHARE ROW EXCLUSIVE',
    memberships: 'SHARE ROW EXCLUSIVE',
    invitations: 'SHARE ROW EXCLUSIVE',
    groups: 'SHARE ROW EXCLUSIVE',
    outbox_mails: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`
      create table directories (
        client_id int primary key,
        mode text not null default 'show',
        attributes json not null default '{}',
        constraint directories_mode_check check (mode in ('show', 'apply')),
        constraint directories_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
      )`);
    this.addSql(`
      create table directory_people (
        id varchar(36) primary key,
        client_id int not null,
        user_name varchar(255) not null,
        email varchar(254) not null,
        addresses text[] not null default '{}',
        first_name varchar(150) not null default '',
        last_name varchar(150) not null default '',
        extra json not null default '{}',
        is_active boolean not null,
        external_id varchar(255) null,
        resource json not null default '{}',
        version int not null default 1,
        is_removed boolean not null default false,
        due_at timestamptz(3) null,
        problem varchar(500) null,
        stated_by int not null,
        created_at timestamptz(3) not null,
        modified_at timestamptz(3) not null,
        user_id int null,
        invitation_id int null,
        constraint directory_people_client_id_foreign foreign key (client_id) references clients (id) on delete cascade,
        constraint directory_people_client_id_user_id_foreign foreign key (client_id, user_id)
          references memberships (client_id, user_id) on delete cascade,
        constraint directory_people_invitation_id_foreign foreign key (invitation_id)
          references invitations (id) on delete set null
      )`);
    this.addSql(`
      create unique index directory_people_user_name on directory_people (client_id, lower(user_name))
        where not is_removed`);
    this.addSql(
      'create unique index directory_people_email on directory_people (client_id, email) where not is_removed',
    );
    this.addSql(
      'create index directory_people_removed on directory_people (client_id, email) where is_removed',
    );
    this.addSql('create index directory_people_addresses on directory_people using gin (addresses)');
    this.addSql('create index directory_people_due on directory_people (due_at) where due_at is not null');
    this.addSql(
      'create index directory_people_client_id_external_id_index on directory_people (client_id, external_id)',
    );
    this.addSql(
      'create index directory_people_client_id_created_at_id_index on directory_people (client_id, created_at, id)',
    );
    this.addSql('create unique index directory_people_membership on directory_people (client_id, user_id)');
    this.addSql('create index directory_people_invitation_id_index on directory_people (invitation_id)');
    this.addSql(`
      create table directory_groups (
        id varchar(36) primary key,
        client_id int not null,
        display_name varchar(100) not null,
        external_id varchar(255) null,
        resource json not null default '{}',
        version int not null default 1,
        is_removed boolean not null default false,
        due_at timestamptz(3) null,
        problem varchar(500) null,
        stated_by int not null,
        created_at timestamptz(3) not null,
        modified_at timestamptz(3) not null,
        is_adopted boolean not null default false,
        group_id int null,
        constraint directory_groups_client_id_foreign foreign key (client_id) references clients (id) on delete cascade,
        constraint directory_groups_group_id_foreign foreign key (group_id) references groups (id) on delete cascade
      )`);
    this.addSql(`
      create unique index directory_groups_name on directory_groups (client_id, lower(display_name))
        where not is_removed`);
    this.addSql('create index directory_groups_due on directory_groups (due_at) where due_at is not null');
    this.addSql(
      'create index directory_groups_client_id_external_id_index on directory_groups (client_id, external_id)',
    );
    this.addSql(
      'create index directory_groups_client_id_created_at_id_index on directory_groups (client_id, created_at, id)',
    );
    this.addSql('create index directory_groups_group_id_index on directory_groups (group_id)');
    this.addSql(`
      create table directory_members (
        group_id varchar(36) not null,
        person_id varchar(36) not null,
        primary key (group_id, person_id),
        constraint directory_members_group_id_foreign foreign key (group_id)
          references directory_groups (id) on delete cascade,
        constraint directory_members_person_id_foreign foreign key (person_id)
          references directory_people (id) on delete cascade
      )`);
    this.addSql('create index directory_members_person_id_index on directory_members (person_id)');
    this.addSql(`
      create table directory_holds (
        client_id int not null,
        user_id int not null,
        is_last_admin boolean not null,
        held_at timestamptz(3) not null,
        tried_at timestamptz(3) not null,
        approved_at timestamptz(3) null,
        primary key (client_id, user_id),
        constraint directory_holds_client_id_user_id_foreign foreign key (client_id, user_id)
          references memberships (client_id, user_id) on delete cascade
      )`);
    this.addSql(`
      create table directory_endings (
        id bigserial primary key,
        client_id int not null,
        ended_at timestamptz(3) not null,
        constraint directory_endings_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
      )`);
    this.addSql(
      'create index directory_endings_client_id_ended_at_index on directory_endings (client_id, ended_at)',
    );
    this.addSql(`
      create table directory_requests (
        id bigserial primary key,
        client_id int not null,
        received_at timestamptz(3) not null,
        method varchar(8) not null,
        path varchar(500) not null,
        status int not null,
        error varchar(500) null,
        constraint directory_requests_client_id_foreign foreign key (client_id) references clients (id) on delete cascade
      )`);
    this.addSql(`
      alter table outbox_mails
        drop constraint outbox_mails_kind_check,
        add constraint outbox_mails_kind_check check (kind in (
          'invitation', 'password-setup', 'password-reset', 'password-changed', 'failed-logins', 'password-expiry', 'email-confirmation',
          'email-changed', 'access-requested', 'access-decided', 'second-factor-added', 'second-factor-removed', 'second-factor-reset',
          'recovery-code-used', 'failed-codes', 'passkey-added', 'passkey-removed', 'second-factor-required', 'second-factor-reminder',
          'password-renewal', 'identity-linked', 'webhook-disabled', 'access-ending', 'access-ending-report', 'invitation-reminder',
          'inactivity-warning', 'weekly-digest', 'token-ending', 'viewed-as', 'directory-held'))`);
    this.addSql('create index directory_requests_client_id_id_index on directory_requests (client_id, id)');
  }
}
