import { type InferResult, sql } from 'kysely';
import { before, deleteInBatches } from '../../db/deletion.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';

/** Of each client, so many requests are kept, for so long. */
const MAX_KEPT = 1_000;
const KEPT_DAYS = 7;

const WRITE_DELAY_MS = 1_000;
const MAX_WAITING = 1_000;
const MAX_TEXT = 500;

export type ReceivedRequest = {
  client: number;
  method: string;
  /** Below the address of the directory, with the query. */
  path: string;
  status: number;
  error: string | null;
};

type Deps = { fork: () => Em; clock: Clock; logger: Pick<Logger, 'warn'> };

export type DirectoryRequestLog = ReturnType<typeof createDirectoryRequestLog>;

/**
 * Remembers the last requests of directories, for people to read: those of a second in one statement, outside of their transactions. A crash
 * loses the last second.
 */
export const createDirectoryRequestLog = ({ fork, clock, logger }: Deps) => {
  let waiting: (ReceivedRequest & { received_at: Date })[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  /** Writes the requests that wait. Never throws. */
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const requests = waiting;
    waiting = [];
    if (requests.length > 0)
      writing = writing
        .then(() => write(fork(), requests))
        .catch((error: unknown) => logger.warn({ err: error }, 'cannot record requests of directories'));
    return writing;
  };

  return {
    flush,

    record: ({ path, error, ...request }: ReceivedRequest): void => {
      const texts = { path: textOf(path), error: error === null ? null : textOf(error) };
      waiting.push({ ...request, ...texts, received_at: clock.now() });
      if (waiting.length >= MAX_WAITING) void flush();
      else timer ??= setTimeout(flush, WRITE_DELAY_MS).unref();
    },
  };
};

const textOf = (text: string): string => text.slice(0, MAX_TEXT).replaceAll('\0', '').toWellFormed();

const write = async (em: Em, requests: readonly object[]): Promise<void> => {
  const json = JSON.stringify(requests);
  await sql`
    insert into directory_requests (client_id, received_at, method, path, status, error)
    select client, received_at, method, path, status, error from rows from (json_to_recordset(${json}::json)
      as (client int, received_at timestamptz, method varchar, path varchar, status int, error varchar)) with ordinality
      as sent (client, received_at, method, path, status, error, n)
    where exists (select from clients where clients.id = sent.client) order by n`.execute(kysely(em));
  await sql`
    with old as materialized (
      select client, (select id from directory_requests kept where kept.client_id = client order by id desc
        offset ${MAX_KEPT} limit 1) as last
      from (select distinct client from json_to_recordset(${json}::json) as sent (client int)) written)
    delete from directory_requests using old where client_id = old.client and id <= old.last`.execute(
    kysely(em),
  );
};

/** Newest first. */
export const readRequests = (em: Em, client: number, page: CursorPageRequest): Promise<RequestRow[]> => {
  const rows = requestRows(em).where('client_id', '=', client);
  return readPage(afterCursor(rows, 'id', page.cursor, 'desc'), 'id', page);
};

const requestRows = (em: Em) =>
  kysely(em)
    .selectFrom('directory_requests')
    .select(['id', 'received_at', 'method', 'path', 'status', 'error'])
    .orderBy('id', 'desc');

type RequestRow = InferResult<ReturnType<typeof requestRows>>[number];

/** Deletes old requests, and ends of memberships that no longer count. */
export const pruneDirectories = async (em: Em, now: Date): Promise<void> => {
  await deleteInBatches(em, 'directory_requests', sql`received_at < ${before(now, KEPT_DAYS * DAY_MS)}`);
  await deleteInBatches(em, 'directory_endings', sql`ended_at < ${before(now, DAY_MS)}`);
};
