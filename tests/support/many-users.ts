import { sql } from 'kysely';
import type { TestApp } from './test-app.ts';
import { NOON } from './test-clock.ts';

/** Unusual but valid content of texts and free-form data. */
const ODD_TEXT = `"Ünï\\"\n\t\b\f\r\u0001\u001f\u007f\u2028😀</script>`;
const ODD_EXTRA = {
  'a"b': ['\u0000', '\ud83d', '\ud83d\ude00', 1e21, -0.5, 1.7976931348623157e308, null, true],
  __proto__x: {},
  7: 'seven',
  '': [[], {}],
};

/** Adds the users `m1@many.test` to `m{count}@many.test` to a client and its apps. */
export const addUsers = async (app: TestApp, count: number, client = 1): Promise<void> => {
  const db = app.db();
  await sql`
    insert into users (email, handle, first_name, last_name, extra, profile_color, date_joined, last_password_set, last_login)
    select 'm' || n || '@many.test', 'm' || n, 'First ' || n, 'Last', ('{"n":' || n || '}')::json, 'abcdef',
      ${NOON}::timestamptz - n * interval '1 minute', ${NOON}, case when n % 2 = 0 then ${NOON}::timestamptz end
    from generate_series(1, ${count}::int) as n`.execute(db);
  await sql`
    insert into memberships (client_id, user_id)
    select ${client}, id from users where email like 'm%@many.test'`.execute(db);
  await sql`
    insert into app_grants (user_id, app_id)
    select users.id, apps.id from users, apps where email like 'm%@many.test' and (users.id % 3 = 0 or client_id = ${client})`.execute(
    db,
  );
};

/** Gives a user the most unusual values that the database allows. */
export const setUnusualValues = async (app: TestApp, email: string): Promise<void> => {
  await sql`
    update users set first_name = ${ODD_TEXT}, last_name = '', extra = ${JSON.stringify(ODD_EXTRA)}::json,
      profile_avatar = ${`https://x.test/${ODD_TEXT}`}, is_demo_user = true, last_login = '9999-12-31T23:59:59.999Z',
      last_activated = '0001-01-01T00:00:00Z', last_deactivated = '1969-12-31T23:59:59.999Z'
    where email = ${email}`.execute(app.db());
};
