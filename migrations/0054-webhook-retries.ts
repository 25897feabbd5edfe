import { Migration } from '@mikro-orm/migrations';
import type { Locks } from './index.ts';

/** When a webhook that fails may be sent to again. */
export class WebhookRetries extends Migration {
  static readonly locks: Locks = { webhooks: 'ACCESS EXCLUSIVE' };

  override up(): void {
    this.addSql(`alter table webhooks add column retry_at timestamptz(3) null`);
  }
}
