import { Migration } from '@mikro-orm/migrations';

/** Who granted an app, why, and until when. No row is written. */
export class GrantsThatEnd extends Migration {
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
