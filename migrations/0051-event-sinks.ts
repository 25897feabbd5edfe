import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** The positions of sinks, to which events are sent. */
export class EventSinks extends Migration {
  static readonly locks: Locks = {};

  override up(): void {
    this.addSql(`
      create table event_sinks (
        name varchar(16) not null primary key,
        position bigint not null,
        attempts int not null default 0,
        next_attempt_at timestamptz(3) not null,
        failing_since timestamptz(3) null,
        last_error varchar(500) null,
        served_at timestamptz(3) not null
      )`);
  }
}
