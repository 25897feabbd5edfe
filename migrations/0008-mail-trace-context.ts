import { Migration } from '@mikro-orm/migrations';

/** The trace of the request that caused a mail, to which the trace of its delivery links. */
export class MailTraceContext extends Migration {
  override up(): void {
    this.addSql(`alter table outbox_mails add column traceparent varchar(55) null`);
  }
}
