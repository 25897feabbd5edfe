import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** The roles that an invitation gives, and who gives them. */
export class InvitedRoles extends Migration {
  static readonly locks: Locks = { invitations: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(
      `alter table invitations add column roles text[] not null default '{}', add column roles_by int null`,
    );
  }
}
