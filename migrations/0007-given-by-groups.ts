import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Data permissions and roles in apps that groups and grants give. */
export class GivenByGroups extends Migration {
  static readonly locks: Locks = {
    groups: 'ACCESS EXCLUSIVE',
    group_apps: 'ACCESS EXCLUSIVE',
    app_grants: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql('alter table groups add column attributes json null, add column rank int not null default 0');
    this.addSql(`alter table group_apps add column app_roles text[] not null default '{}'`);
    this.addSql(
      `alter table app_grants add column attributes json null, add column app_roles text[] not null default '{}'`,
    );
  }
}
