import * as assert from 'uvu/assert';
import { ACME, appSuite, type TestApp } from '../../support/test-app.ts';
import { createTestPool } from '../../support/test-database.ts';
import { NOON } from '../../support/time.ts';

const COUNT = 100_000;

const preview = appSuite('reminders.preview of a client with 100,000 idle members');

/** Each was warned 20 days ago, and has an old session and an old token. */
const addIdleMembers = async ({ connection }: TestApp): Promise<void> => {
  // Not the service's own, whose statements end after seconds.
  const pool = createTestPool(connection, { max: 1 });
  const before = (days: number) => `'${NOON.toISOString()}'::timestamptz - interval '${days} days'`;
  for (const statement of [
    'set statement_timeout = 0',
    `with people as (
      insert into users (email, handle, first_name, profile_color, date_joined, last_password_set, last_login)
      select 'm' || n || '@many.test', 'm' || n, 'Idle', 'abcdef', ${before(500)}, ${before(500)}, ${before(200)}
      from generate_series(1, ${COUNT}) n returning id)
    insert into memberships (client_id, user_id, joined_at, inactivity_warned_at)
    select 1, id, ${before(400)}, ${before(20)} from people`,
    `insert into sessions (digest, user_id, created_at, authenticated_at, last_used, expires_at)
      select 's' || id, id, ${before(200)}, ${before(200)}, ${before(200)}, ${before(190)}
      from users where first_name = 'Idle'`,
    `insert into api_tokens (digest, user_id, created_at, authenticated_at, last_used)
      select 't' || id, id, ${before(200)}, ${before(200)}, ${before(200)} from users where first_name = 'Idle'`,
    'insert into client_reminders (client_id, inactive_days, suspend_days) values (1, 30, 7)',
    'analyze users, memberships, sessions, api_tokens',
  ])
    await pool.query(statement);
  await pool.end();
};

preview('counts those who are warned and suspended before its statements are ended', async ({ app }) => {
  await addIdleMembers(app);
  const counts = async (changes: object) => {
    const { inactive, suspended } = await app.as(ACME).reminders.preview({ id: 1, limit: 1, ...changes });
    return [inactive.count, suspended.count];
  };

  assert.equal(await counts({}), [0, COUNT]);
  assert.equal(await counts({ inactive_days: 31 }), [COUNT, 0], 'other settings warn again');
});

preview.run();
