import { sql } from 'kysely';
import type { Client } from 'pg';
import type { Service } from './service-process.ts';
import { ADA, EDSGER, GRACE, ROOT, type TestApp } from './test-app.ts';
import { NOON } from './time.ts';
import { CHURN, FLEET, SALES } from './usage.ts';

/** Adds the users `m1@many.test` to `m{count}@many.test` to a client and its apps. */
export const addUsers = async (app: TestApp, count: number): Promise<void> => {
  const db = app.db();
  await sql`
    insert into users (email, handle, first_name, last_name, extra, profile_color, date_joined, last_password_set, last_login)
    select 'm' || n || '@many.test', 'm' || n, 'First ' || n, 'Last', ('{"n":' || n || '}')::json, 'abcdef',
      ${NOON}::timestamptz - n * interval '1 minute', ${NOON}, case when n % 2 = 0 then ${NOON}::timestamptz end
    from generate_series(1, ${count}::int) as n`.execute(db);
  await sql`
    insert into memberships (client_id, user_id, extra)
    select 1, id, extra from users where email like 'm%@many.test'`.execute(db);
  await sql`
    insert into app_grants (user_id, app_id)
    select users.id, apps.id from users, apps where email like 'm%@many.test' and (users.id % 3 = 0 or client_id = 1)`.execute(
    db,
  );
};

const GRANTS: [email: string, apps: string[]][] = [
  [ADA, [SALES, CHURN]],
  [GRACE, [SALES]],
  [EDSGER, [FLEET]],
];

/** Restores what the users of the demo workspace may open, for tests that change it. */
export const restoreGrants = async (app: TestApp): Promise<void> => {
  for (const [email, apps] of GRANTS) await app.as(ROOT).users.update({ email, apps, is_active: true });
};

/** Adds the members `m1@many.test` to `m{count}@many.test` of the first demo client, who have one app. */
export const addMembers = (client: Client, count: number) =>
  client.query(`
    with people as (
      insert into users (email, handle, profile_color, date_joined, last_password_set)
      select 'm' || n || '@many.test', 'm' || n, 'abcdef', now(), now() from generate_series(1, ${count}) n
      returning id),
    members as (insert into memberships (client_id, user_id) select 1, id from people)
    insert into app_grants (user_id, app_id) select id, '${SALES}' from people`);

/** The rows of `from`. */
export const countRows = async (client: Client, from: string): Promise<number> =>
  (await client.query(`select from ${from}`)).rowCount ?? 0;

export const statusesOf = (rows: { status: string }[]) => [...new Set(rows.map(({ status }) => status))];

const sendAs = async (service: Service, path: string, body: object = {}, key?: string) => {
  const { token } = await service.logIn('admin@acme.test', 'steward-demo-1');
  return service.send(path, { token, body, ...(key && { headers: { 'idempotency-key': key } }) });
};

/** Takes the app from all who have it, so that people who have lost it no longer match the request. */
export const revokeFromAll = (service: Service) => {
  const filter = { app: 'sales', search: 'many.test' };
  return sendAs(service, 'POST /jb/users/bulk/', { filter, action: 'revoke-apps', apps: [SALES] }, 'revoke');
};

export const undoAt = (service: Service, operation: string) =>
  sendAs(service, `POST /jb/operations/${operation}/undo/`);
