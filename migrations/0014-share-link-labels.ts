import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** Labels by which admins tell access views apart. */
export class ShareLinkLabels extends Migration {
  static readonly locks: Locks = { access_views: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`alter table access_views add column label varchar(100) not null default ''`);
  }
}
