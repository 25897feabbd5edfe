import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Schemas of data permissions. Clients that exist only warn about invalid ones. */
export class DataPermissions extends Migration {
  static readonly locks: Locks = {
    apps: 'ACCESS EXCLUSIVE',
    clients: 'ACCESS EXCLUSIVE',
    memberships: 'ACCESS EXCLUSIVE',
    sso_connections: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql(
      `alter table apps add column attributes json null, add column app_roles json not null default '[]'`,
    );
    this.addSql(`
      alter table clients
        add column attributes json null,
        add column attributes_mode text not null default 'warn',
        add column attribute_keys text[] not null default '{}',
        add constraint clients_attributes_mode_check check (attributes_mode in ('warn', 'enforce'))`);
    this.addSql(`alter table clients alter column attributes_mode set default 'enforce'`);
    this.addSql('alter table memberships add column claims json null');
    this.addSql(`alter table sso_connections add column attribute_claims json not null default '{}'`);
  }
}
