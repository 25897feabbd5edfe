import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Logins that wait for a passkey to be added, because a policy demands one. No row is written. */
export class PasskeysAtLogins extends Migration {
  static readonly locks: Locks = { login_challenges: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      alter table login_challenges drop constraint login_challenges_step_check,
        add constraint login_challenges_step_check check (step in ('code', 'enrol', 'passkey'))`);
  }
}
