import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pool, PoolClient } from 'pg';
import { eachRow, type Fields, type Statement, withClient } from './raw-rows.ts';

const TO_ESCAPE = /["\\]|[^ -\uffff]/;

/** A JSON string; most need no escaping. */
export const quoted = (text: string): string => (TO_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`);

/** Converts PostgreSQL's `2026-11-21 10:20:30.5+00` to `"2026-11-21T10:20:30.500Z"`. */
export const instant = (text: string | null): string => {
  if (text === null) return 'null';
  const fraction = text.length === 22 ? '.000' : text.slice(19, -3).padEnd(4, '0');
  return `"${text.slice(0, 10)}T${text.slice(11, 19)}${fraction}Z"`;
};

export const flag = (text: string): string => (text === 't' ? 'true' : 'false');

const FIRST_BYTES = 1024 * 1024;
const SPARE_BUFFERS = 64;
const spare: Buffer[] = [];

/** A response body in a pooled buffer. */
export class Output {
  #buffer = spare.pop() ?? Buffer.allocUnsafeSlow(FIRST_BYTES);
  length = 0;

  add(text: string): void {
    if (this.length + text.length > this.#buffer.length) this.#grow(text.length);
    this.length += this.#buffer.write(text, this.length, 'latin1');
  }

  #grow(more: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.length + more));
    this.#buffer.copy(larger, 0, 0, this.length);
    this.#buffer = larger;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  /** Call it after the bytes were sent. */
  release(): void {
    if (spare.length < SPARE_BUFFERS) spare.push(this.#buffer);
  }
}

const FLUSH_BYTES = 256 * 1024;

/** Streams the rows of a statement as a JSON array. Backpressure pauses the database socket; there is no cursor. */
export const streamRows = async <F extends Fields>(
  client: PoolClient,
  statement: Statement,
  response: ServerResponse,
  json: (fields: F) => string,
): Promise<void> => {
  // The types of `pg` lack the client's socket.
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  // Read the remaining rows after the reader disconnects: the connection goes back to the pool.
  for (const event of ['drain', 'close']) response.on(event, () => stream.resume());

  let output = new Output();
  let separator = '[';
  const flush = (): void => {
    const full = output;
    output = new Output();
    if (!response.write(full.bytes(), () => full.release()) && !response.destroyed) stream.pause();
  };
  await eachRow<F>(client, statement, [], (fields) => {
    output.add(separator + json(fields));
    separator = ',';
    if (output.length > FLUSH_BYTES) flush();
  });
  output.add(separator === '[' ? '[]' : ']');
  const last = output;
  response.end(last.bytes(), () => last.release());
};

/** The FROM clause of every statement: the token `$1` of an active user who can view all clients. */
export const TOKEN = `api_tokens t join users au on au.id = t.user_id and au.is_active
  and (au.is_superuser or au.is_staff) and t.digest = $1 and t.last_used > now() - interval '90 days'`;

/** Whether `touch` must save the last use of the token. */
export const IS_STALE = `t.last_used < now() - interval '1 minute'`;

const TOUCH = {
  name: 'touch',
  text: 'update api_tokens set last_used = now(), last_address = $2 where digest = $1',
};

/** Saves the use of a token, at most once a minute. */
export const touch = async (
  by: Pool | PoolClient,
  isStale: string,
  digest: string,
  address: string,
): Promise<void> => {
  if (isStale !== 't') return;
  const work = (client: PoolClient) => eachRow(client, TOUCH, [digest, address], () => undefined);
  await ('release' in by ? work(by) : withClient(by, work));
};

/** The digest of the request's token, or '' without one. */
export const digestOf = (request: FastifyRequest): string => {
  const header = request.headers.authorization ?? '';
  return header.startsWith('Token ') ? createHash('sha256').update(header.slice(6)).digest('hex') : '';
};

export const JSON_TYPE = 'application/json; charset=utf-8';

/** @param text has one character per byte (Latin-1) */
export const sendLatin1 = (reply: FastifyReply, text: string) =>
  reply.type(JSON_TYPE).send(Buffer.from(text, 'latin1'));

export const refuse = (reply: FastifyReply, status: number) =>
  reply.code(status).type(JSON_TYPE).send(`{"status":${status}}`);

/**
 * A CTE that inserts audit entries for a query of (action, target, client ids, details). The actor is `au`; the request
 * id and the address are parameters `first` and `first + 1`.
 */
export const withAudit = (events: string, first: number): string => `,
  audited as (insert into audit_entries
      (occurred_at, request_id, address, actor_email, action, target, client_ids, details)
    select now(), $${first}::varchar, $${first + 1}::varchar, au.email, event.*
    from au, (${events}) as event (action, target, client_ids, details))`;
