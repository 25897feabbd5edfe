import { Migration } from '@mikro-orm/migrations';

/** Packages that were fetched and loaded stay known, so that an earlier one can be loaded again. */
export class PackageHistory extends Migration {
  override up(): void {
    this.addSql(`alter table fetched_packages drop constraint fetched_packages_pkey`);
    this.addSql(`alter table fetched_packages add column id bigserial primary key`);
    this.addSql(`alter table fetched_packages add column fetched_by varchar(254) not null default ''`);
    this.addSql(`create index fetched_packages_slug_id_index on fetched_packages (slug, id)`);

    this.addSql(`
      create table loaded_packages (
        id bigserial primary key,
        app_id varchar(8) not null,
        package_id bigint not null,
        loaded_at timestamptz(3) not null,
        loaded_by varchar(254) not null default '',
        is_rollback boolean not null default false,
        constraint loaded_packages_app_id_foreign foreign key (app_id) references apps (id) on delete cascade,
        constraint loaded_packages_package_id_foreign foreign key (package_id) references fetched_packages (id) on delete restrict
      )`);
    this.addSql(`create index loaded_packages_app_id_id_index on loaded_packages (app_id, id)`);
    this.addSql(`create index loaded_packages_package_id_index on loaded_packages (package_id)`);

    // Of packages loaded so far, only those are known that were fetched last.
    this.addSql(`
      insert into loaded_packages (app_id, package_id, loaded_at)
      select apps.id, fetched.id, (apps.package_info ->> 'loaded_at')::timestamptz
      from apps join fetched_packages fetched on fetched.slug = apps.slug
      where fetched.sha256 = apps.package_info ->> 'sha256'`);
  }
}
