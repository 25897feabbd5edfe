import { Migration } from '@mikro-orm/migrations';

/** First answers, kept for requests that are sent again. */
export class IdempotentAnswers extends Migration {
  override up(): void {
    this.addSql(`
      create table idempotent_answers (
        user_id int not null,
        key varchar(255) not null,
        fingerprint varchar(64) not null,
        answer json null,
        created_at timestamptz(3) not null,
        primary key (user_id, key),
        constraint idempotent_answers_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      )`);
    this.addSql(`create index idempotent_answers_created_at_index on idempotent_answers (created_at)`);
  }
}
