import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { oneRow } from './raw-rows.ts';

/** What every statement begins with: the token `$1` of somebody active who may see all. */
export const TOKEN = `api_tokens t join users au on au.id = t.user_id and au.is_active
  and (au.is_superuser or au.is_staff) and t.digest = $1 and t.last_used > now() - interval '90 days'`;

/** The column by which `touch` learns that the use of the token was not written down for a minute. */
export const IS_STALE = `t.last_used < now() - interval '1 minute'`;

const TOUCH = {
  name: 'touch',
  text: 'update api_tokens set last_used = now(), last_address = $2 where digest = $1',
};

/** Writes that a token is in use, at most once a minute. */
export const touch = async (pool: Pool, isStale: string, digest: string, address: string): Promise<void> => {
  if (isStale === 't') await oneRow(pool, TOUCH, [digest, address]);
};

/** What is kept of the request's token; empty where it brings none. */
export const digestOf = (request: FastifyRequest): string => {
  const header = request.headers.authorization ?? '';
  return header.startsWith('Token ') ? createHash('sha256').update(header.slice(6)).digest('hex') : '';
};

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Text of which each character is a byte. */
export const answer = (reply: FastifyReply, text: string) =>
  reply.type(JSON_TYPE).send(Buffer.from(text, 'latin1'));

export const refuse = (reply: FastifyReply, status: number) =>
  reply.code(status).type(JSON_TYPE).send(`{"status":${status}}`);
