import { Migration } from '@mikro-orm/migrations';

/**
 * Answers may hold secrets: they are kept sealed. Those kept so far are no longer owed to anybody after a day.
 * Without the foreign key, a claim no longer holds the user's row, which two claims of one user would want to lock next.
 */
export class SealedAnswers extends Migration {
  override up(): void {
    this.addSql(`delete from idempotent_answers`);
    this.addSql(`alter table idempotent_answers drop constraint idempotent_answers_user_id_foreign`);
    this.addSql(`alter table idempotent_answers drop column answer`);
    this.addSql(`alter table idempotent_answers add column answer bytea null`);
  }
}
