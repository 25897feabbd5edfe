import { sql } from 'kysely';
import type { TestApp } from './test-app.ts';

/** Runs `work`, during which the database ends the session that writes the row after `count` others, as a shutdown does. */
export const interruptedAt = async <T>(
  app: TestApp,
  table: 'audit_entries' | 'operation_changes' | 'outbox_mails',
  count: number,
  work: () => Promise<T>,
): Promise<T> => {
  await sql`
    create sequence interruption;
    create function interrupt() returns trigger language plpgsql as $$ begin
      if nextval('interruption') > ${sql.lit(count)} then
        raise exception 'terminating connection due to administrator command' using errcode = '57P01';
      end if;
      return new; end $$;
    create trigger interruption before insert on ${sql.table(table)} for each row execute function interrupt()`.execute(
    app.db(),
  );
  try {
    return await work();
  } finally {
    await sql`drop function interrupt cascade; drop sequence interruption`.execute(app.db());
  }
};
