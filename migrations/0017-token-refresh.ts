import { Migration } from '@mikro-orm/migrations';

/** The end of refreshed tokens, and what replaces them. */
export class TokenRefresh extends Migration {
  override up(): void {
    this.addSql(`
      alter table api_tokens add column expires_at timestamptz(3) null, add column replacement bytea null`);
  }
}
