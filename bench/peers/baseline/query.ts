import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pool } from 'pg';

export type Text = string | null;
export type Statement = { name: string; text: string };
/** Runs a prepared statement. Columns are the texts that PostgreSQL sends. */
export type Query = <Row extends readonly Text[]>(statement: Statement, values: unknown[]) => Promise<Row[]>;

const AS_TEXT = { getTypeParser: () => (text: unknown) => text };

export const createQuery =
  (pool: Pool): Query =>
  async <Row extends readonly Text[]>(statement: Statement, values: unknown[]) =>
    (await pool.query<Row[number][]>({ ...statement, values, rowMode: 'array', types: AS_TEXT }))
      .rows as unknown as Row[]; // of the columns that the statement selects

/** The FROM clause of every statement: the token `$1` of an active user who can view all clients. */
export const TOKEN = `api_tokens t join users au on au.id = t.user_id and au.is_active
  and (au.is_superuser or au.is_staff) and t.digest = $1 and t.last_used > now() - interval '90 days'`;

/** The digest of the request's token, or '' without one. */
export const digestOf = (request: FastifyRequest): string => {
  const header = request.headers.authorization ?? '';
  return header.startsWith('Token ') ? createHash('sha256').update(header.slice(6)).digest('hex') : '';
};

export const sendJson = (reply: FastifyReply, json: string) =>
  reply.type('application/json; charset=utf-8').send(json);

export const refuse = (reply: FastifyReply, status: number) =>
  sendJson(reply.code(status), `{"status":${status}}`);

const TO_ESCAPE = /["\\]|[^ -\uffff]/;

/** A JSON string; most need no escaping. */
export const quoted = (text: string): string => (TO_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`);

/** Converts PostgreSQL's `2026-11-21 10:20:30.5+00` to `"2026-11-21T10:20:30.500Z"`. */
export const instant = (text: Text): string => {
  if (text === null) return 'null';
  const fraction = text.length === 22 ? '.000' : text.slice(19, -3).padEnd(4, '0');
  return `"${text.slice(0, 10)}T${text.slice(11, 19)}${fraction}Z"`;
};

export const flag = (text: string): string => (text === 't' ? 'true' : 'false');

export const USER_COLUMNS = `u.email, u.handle, u.first_name, u.last_name, u.extra, u.is_active, u.is_demo_user, u.profile_color,
  u.profile_avatar, u.last_login, u.date_joined, u.last_activated, u.last_deactivated`;
/** The elements of two JSON arrays of one user. */
export const APPS_OF_USER = `(select string_agg('"' || a.id || '"', ',' order by a.created_at, a.id)
  from app_grants g join apps a on a.id = g.app_id where g.user_id = u.id)`;
export const CLIENTS_OF_ADMIN = `(select string_agg(m.client_id::text, ',' order by m.client_id)
  from memberships m where m.user_id = u.id and m.is_admin)`;

type T = string;
export type UserColumns = [T, T, T, T, T, T, T, T, Text, Text, T, Text, Text];

export const userJson = (
  [
    email,
    handle,
    firstName,
    lastName,
    extra,
    active,
    demo,
    color,
    avatar,
    login,
    joined,
    activated,
    deactivated,
  ]: readonly [...UserColumns, ...Text[]],
  apps: Text,
  administered: Text,
  baseUrl: string,
): string => {
  const url = avatar ?? `${baseUrl}/avatars/${/[a-z0-9]/.exec(email)?.[0] ?? 'x'}.svg`;
  return `{"email":${quoted(email)},"handle":${quoted(handle)},"first_name":${quoted(firstName)},"last_name":${quoted(lastName)},"extra":${extra},"is_active":${flag(active)},"is_demo_user":${flag(demo)},"profile_color":"${color}","profile_avatar":${quoted(url)},"apps":[${apps ?? ''}],"clientadmin_of":[${administered ?? ''}],"last_login":${instant(login)},"date_joined":${instant(joined)},"last_activated":${instant(activated)},"last_deactivated":${instant(deactivated)}}`;
};
