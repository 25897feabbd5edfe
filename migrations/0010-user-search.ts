import { Migration } from '@mikro-orm/migrations';

/**
 * An index for the search of users. It needs pg_trgm, which comes with PostgreSQL and which the owner of a database may
 * install; a server that lacks it searches without, by reading all users.
 */
export class UserSearch extends Migration {
  override up(): void {
    this.addSql(`
      do $$
      declare
        place name;
      begin
        create extension if not exists pg_trgm;
        -- It may have been there before, in a schema of its own.
        select nspname into strict place from pg_extension join pg_namespace on pg_namespace.oid = extnamespace
        where extname = 'pg_trgm';
        execute format('create index users_search on users using gin
          (lower(email || '' '' || first_name || '' '' || last_name) %I.gin_trgm_ops)', place);
      exception
        when insufficient_privilege or feature_not_supported or undefined_file then
          raise notice 'The search of users goes without an index, as pg_trgm cannot be installed: %', sqlerrm;
      end $$`);
  }
}
