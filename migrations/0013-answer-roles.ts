import { Migration } from '@mikro-orm/migrations';

/** A stored response is returned only to a caller who still has the roles of the first request. */
export class AnswerRoles extends Migration {
  override up(): void {
    this.addSql(`
      alter table idempotent_answers
        add column is_superuser boolean not null default false,
        add column is_staff boolean not null default false,
        add column admin_of int[] not null default '{}'`);
    // The roles of those kept before were not recorded: the present ones come closest.
    this.addSql(`
      update idempotent_answers set is_superuser = users.is_superuser, is_staff = users.is_staff,
        admin_of = array(
          select client_id from memberships m where m.user_id = users.id and m.is_admin order by client_id)
      from users where users.id = idempotent_answers.user_id`);
  }
}
