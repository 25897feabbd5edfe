import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Finds the events of a client. The trigger also serves the previous version, which publishes events without it. */
export class EventClients extends Migration {
  static readonly locks: Locks = { events: 'SHARE ROW EXCLUSIVE' };

  override up(): void {
    this.addSql(`
      create table event_clients (
        client_id int not null,
        event_id bigint not null,
        action varchar(64) not null,
        primary key (client_id, event_id)
      )`);
    this.addSql(`
      create index event_clients_client_id_action_event_id_index
        on event_clients (client_id, action, event_id)`);
    this.addSql(`
      create function events_clients_fn() returns trigger language plpgsql as $$
      begin insert into event_clients (client_id, event_id, action)
          select unnest(client_ids), new.id, action from audit_entries where id = new.entry_id
          on conflict do nothing;
        return null; end $$`);
    this.addSql(`
      create trigger clients after insert on events for each row execute function events_clients_fn()`);
  }
}
