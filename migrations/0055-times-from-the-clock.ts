import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** All times come from the service's clock: no column and no trigger asks PostgreSQL for the time. */
export class TimesFromTheClock extends Migration {
  static readonly locks: Locks = {
    users: 'ACCESS EXCLUSIVE',
    memberships: 'ACCESS EXCLUSIVE',
    outbox_mails: 'ACCESS EXCLUSIVE',
  };

  override up(): void {
    this.addSql(`alter table users add column email_set_at timestamptz(3) null`);
    this.addSql(`alter table memberships alter column joined_at drop default`);
    this.addSql(`alter table outbox_mails alter column next_attempt_at drop default`);
    this.addSql(`
      create or replace function users_email_reserved_fn() returns trigger language plpgsql as $$
      begin ${RESERVED}; end $$`);
  }
}

const RESERVED = `if exists (select from email_changes c where c.old_email = new.email and c.user_id <> new.id
          and c.changed_at is not null and (c.is_kept or c.was_verified and c.undo_until > coalesce(new.email_set_at, new.date_joined))) then
        raise exception 'The address is reserved for the person who had it before.'
          using errcode = 'unique_violation', constraint = 'users_email_unique';
      end if;
      return null`;
