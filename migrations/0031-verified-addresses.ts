import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Whether the mailbox of an address has shown that it is the person's, which only a mailed link shows. */
export class VerifiedAddresses extends Migration {
  static readonly locks: Locks = { email_changes: 'ACCESS EXCLUSIVE', users: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`alter table users add column is_email_verified boolean not null default false`);
    this.addSql(`alter table email_changes add column was_verified boolean not null default false`);
    // Superusers change addresses at once. Until now, these changes looked like those of the person.
    this.addSql(`update email_changes set is_own = false where changed_at = requested_at`);
    // The earlier holder of an account that was handed over neither gets it back nor keeps the address.
    this.addSql(`update email_changes set undo_until = null, is_kept = false where not is_own`);
    // What the last client of these people has set does not go to the next one.
    this.addSql(`
      update users set extra = '{}', is_demo_user = false where (extra::text <> '{}' or is_demo_user)
        and not (is_staff or is_superuser) and not exists (select from memberships m where m.user_id = users.id)`);

    // The present address of the person whose former address this is, if they belonged to the app's client when it was changed; the
    // address itself if there is none. The function without the app stays for instances of the previous version.
    this.addSql(`
      create function present_email(of_address text, of_app text) returns text language plpgsql stable as $$
      begin
        return coalesce(
          (select u.email from email_changes c join users u on u.id = c.user_id
            where c.old_email = of_address and c.changed_at is not null
              and not exists (select from users x join memberships m on m.user_id = x.id
                join apps a on a.client_id = m.client_id where x.email = of_address and a.id = of_app)
              and exists (select from memberships m join apps a on a.client_id = m.client_id
                where m.user_id = u.id and a.id = of_app and coalesce(m.joined_at <= c.changed_at, true))
            order by c.changed_at desc, c.id desc limit 1),
          of_address);
      end $$`);
  }
}
