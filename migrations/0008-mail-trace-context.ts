import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** The trace of the request that caused a mail, to which the trace of its delivery links. */
export class MailTraceContext extends Migration {
  static readonly locks: Locks = { outbox_mails: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`alter table outbox_mails add column traceparent varchar(55) null`);
  }
}
