import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Invitations to groups, and to apps until a time. */
export class InvitationsToGroups extends Migration {
  static readonly locks: Locks = { groups: 'SHARE ROW EXCLUSIVE', invitations: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql('alter table invitations add column apps_expire_at timestamptz(3) null');
    this.addSql(`
      create table invitation_groups (
        invitation_id int not null,
        group_id int not null,
        primary key (invitation_id, group_id),
        constraint invitation_groups_invitation_id_foreign
          foreign key (invitation_id) references invitations (id) on delete cascade,
        constraint invitation_groups_group_id_foreign foreign key (group_id) references groups (id) on delete cascade
      )`);
    this.addSql('create index invitation_groups_group_id_index on invitation_groups (group_id)');
  }
}
