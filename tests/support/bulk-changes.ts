import type { Client } from 'pg';
import type { Service } from './service-process.ts';
import { SALES } from './usage.ts';

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
export const revokeFromAll = (service: Service, key: string) => {
  const filter = { app: 'sales', search: 'many.test' };
  return sendAs(service, 'POST /jb/users/bulk/', { filter, action: 'revoke-apps', apps: [SALES] }, key);
};

export const mailLinks = (service: Service, emails: string[], key: string) =>
  sendAs(service, 'POST /jb/users/bulk/', { emails, action: 'send-password-link' }, key);

export const undoAt = (service: Service, operation: string) =>
  sendAs(service, `POST /jb/operations/${operation}/undo/`);
