import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Of events before the previous migration. Not in its transaction, which locks the table: events are published meanwhile. */
export class ClientsOfEarlierEvents extends Migration {
  static readonly locks: Locks = {};

  override up(): void {
    this.addSql(`
      insert into event_clients (client_id, event_id, action)
      select unnest(client_ids), events.id, action from events join audit_entries a on a.id = entry_id
      on conflict do nothing`);
  }
}
