import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** How sessions, and what they open, were authenticated, and when tokens were confirmed. No row is written. */
export class AuthenticationMethods extends Migration {
  static readonly locks: Locks = {
    access_view_uses: 'ACCESS EXCLUSIVE',
    api_tokens: 'ACCESS EXCLUSIVE',
    launch_codes: 'ACCESS EXCLUSIVE',
    sessions: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`alter table sessions add column methods text[] not null default '{pwd}'`);
    this.addSql(`alter table api_tokens add column authenticated_at timestamptz(3)`);
    this.addSql(`alter table launch_codes add column methods text[], add column auth_time timestamptz(3)`);
    this.addSql(
      `alter table access_view_uses add column methods text[], add column auth_time timestamptz(3)`,
    );
  }
}
