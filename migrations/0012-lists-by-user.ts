import { Migration } from '@mikro-orm/migrations';

/** Lists of users are read by id, page by page: those of an app, and beside them who administers what. */
export class ListsByUser extends Migration {
  override up(): void {
    this.addSql(`drop index app_grants_app_id_index`);
    this.addSql(`create index app_grants_app_id_user_id_index on app_grants (app_id, user_id)`);
    this.addSql(`
      create index memberships_admins on memberships (user_id, client_id) where is_admin`);
  }
}
