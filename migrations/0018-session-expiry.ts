import { Migration } from '@mikro-orm/migrations';

/** An absolute lifetime of sessions. Existing ones get the default of SESSION_MAX_DAYS. */
export class SessionExpiry extends Migration {
  override up(): void {
    this.addSql(`alter table sessions add column expires_at timestamptz(3) null`);
    this.addSql(`update sessions set expires_at = created_at + interval '30 days'`);
    this.addSql(`alter table sessions alter column expires_at set not null`);
  }
}
