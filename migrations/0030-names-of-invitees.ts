import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** The names that an inviter states, which the form of the invitation proposes. */
export class NamesOfInvitees extends Migration {
  static readonly locks: Locks = { invitations: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      alter table invitations
        add column first_name varchar(150) not null default '',
        add column last_name varchar(150) not null default ''`);
  }
}
