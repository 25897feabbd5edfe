import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Callers send back what they read, also a length below the one that is enforced. */
export class PasswordLengthsAsSent extends Migration {
  static readonly locks: Locks = { clients: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`alter table clients drop constraint clients_password_min_length_check`);
    this.addSql(`
      alter table clients add constraint clients_password_min_length_check
        check (password_min_length >= 0 and password_min_length <= 128)`);
  }
}
