import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Indexes for the sort orders and filters of users. */
export class UserSorting extends Migration {
  static readonly locks: Locks = { users: 'SHARE' };

  override up(): void {
    this.addSql(`create index users_by_name on users (lower(last_name || ' ' || first_name), id)`);
    this.addSql(`
      create index users_by_last_login on users (coalesce(last_login, '-infinity'::timestamptz), id)`);
    this.addSql(`create index users_last_login on users (last_login) include (is_active)`);
    this.addSql(`create index users_date_joined_id_index on users (date_joined, id)`);
    this.addSql(`create index users_with_role on users (id) where is_superuser or is_staff`);
  }
}
