import { Migration } from '@mikro-orm/migrations';

/** What a repeated bulk request or undo needs to continue the first one. */
export class OperationOutcomes extends Migration {
  override up(): void {
    this.addSql(`alter table idempotent_responses add column checkpoint bytea null`);
    this.addSql(`
      alter table operation_changes
        add column superseded varchar(8)[] not null default '{}',
        add column undone json null`);
    this.addSql(`alter table outbox_mails add column operation_id uuid null`);
    this.addSql(`
      create unique index outbox_mails_operation on outbox_mails (operation_id, recipient, coalesce(invitation_id, 0))
      where operation_id is not null`);
  }
}
