import { Migration } from '@mikro-orm/migrations';

/** The scheduled backups of this installation. */
export class Backups extends Migration {
  override up(): void {
    this.addSql(`
      create table backups (
        id bigserial primary key,
        target varchar(1024) not null,
        name varchar(100) not null,
        started_at timestamptz(3) not null,
        finished_at timestamptz(3) null,
        failed_at timestamptz(3) null,
        error varchar(500) null,
        size_bytes bigint null,
        row_count bigint null,
        removed_at timestamptz(3) null
      )`);
    this.addSql(`create index backups_started_at_index on backups (started_at)`);
  }
}
