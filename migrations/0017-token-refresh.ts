import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** The end of refreshed tokens, and what replaces them. */
export class TokenRefresh extends Migration {
  static readonly locks: Locks = { api_tokens: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      alter table api_tokens add column expires_at timestamptz(3) null, add column replacement bytea null`);
  }
}
