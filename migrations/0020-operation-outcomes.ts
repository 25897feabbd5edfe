import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** What a repeated bulk request or undo needs to continue the first one. */
export class OperationOutcomes extends Migration {
  static readonly locks: Locks = {
    idempotent_responses: 'ACCESS EXCLUSIVE',
    operation_changes: 'ACCESS EXCLUSIVE',
    outbox_mails: 'ACCESS EXCLUSIVE',
  };

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
