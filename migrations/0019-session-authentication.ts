import { Migration } from '@mikro-orm/migrations';

/** When the user of a session last entered their password. */
export class SessionAuthentication extends Migration {
  override up(): void {
    this.addSql(`alter table sessions add column authenticated_at timestamptz(3) null`);
    this.addSql(`update sessions set authenticated_at = created_at`);
    this.addSql(`alter table sessions alter column authenticated_at set not null`);
  }
}
