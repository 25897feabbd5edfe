import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** The grants that count now are found in the index alone. */
export class GrantsByApp extends Migration {
  static readonly locks: Locks = { app_grants: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`create index app_grants_by_app on app_grants (app_id, user_id) include (expires_at)`);
    this.addSql(`drop index app_grants_app_id_user_id_index`);
  }
}
