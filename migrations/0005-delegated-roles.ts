import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Roles in a client besides its admin. One event replaces the two about admins. */
export class DelegatedRoles extends Migration {
  static readonly locks: Locks = {
    memberships: 'ACCESS EXCLUSIVE',
    idempotent_responses: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`alter table memberships add column roles text[] not null default '{}'`);
    this.addSql(
      `create index memberships_roles on memberships (user_id, client_id) where is_admin or roles <> '{}'`,
    );
    this.addSql('drop index memberships_admins');
    this.addSql(`alter table idempotent_responses add column client_roles jsonb not null default '{}'`);
    this.addSql(`
      update webhooks set types = array(
        select distinct case when type in ('client.admin_added', 'client.admin_removed')
          then 'membership.roles_changed' else type end from unnest(types) as type order by 1)
      where types && array['client.admin_added', 'client.admin_removed']`);
  }
}
