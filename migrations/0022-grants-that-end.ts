import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Who granted an app, why, and until when. No row is written. */
export class GrantsThatEnd extends Migration {
  static readonly locks: Locks = { app_grants: 'ACCESS EXCLUSIVE', operation_changes: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      alter table app_grants
        add column granted_by int null,
        add column granted_at timestamptz(3) null,
        add column expires_at timestamptz(3) null,
        add column reason varchar(500) not null default ''`);
    this.addSql(`create index app_grants_expiring on app_grants (expires_at) where expires_at is not null`);
    this.addSql(`alter table operation_changes add column revoked_terms json null`);
  }
}
