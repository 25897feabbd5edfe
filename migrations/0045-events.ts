import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Events: the entries of the audit trail from now on, in an order that readers can follow. */
export class Events extends Migration {
  static readonly locks: Locks = {};

  override up(): void {
    this.addSql(`
      create table events (
        id bigserial primary key,
        entry_id bigint not null,
        constraint events_entry_id_unique unique (entry_id)
      )`);
    this.addSql('create table unpublished_events (entry_id bigint not null primary key)');
  }
}
