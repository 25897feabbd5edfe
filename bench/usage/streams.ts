import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { JSONParser } from '@streamparser/json-node';
import { parse } from 'csv-parse';
import { median, send } from '../comparison/load.ts';
import type { Environment } from '../environment.ts';
import { measureCosts } from '../processes.ts';

const FORMATS = {
  'application/json': () => new JSONParser({ paths: ['$.*'], keepStack: false }),
  'text/csv': () => parse({ columns: true }),
};

type Source = { url: string; path: string; headers: Record<string, string> };

/** Measures how the log of the most used app is streamed: a million entries of 30 days. */
export const measureStreams = async (
  environment: Environment,
  reads: number,
  printLine: (line: string) => void,
): Promise<void> => {
  const { database, service, token } = environment;
  const { rows } = await database.query<{ id: string; slug: string }>(
    `select id, slug from apps order by created_at, id limit 1`,
  );
  const [app] = rows;
  if (!app) throw new Error('The database has no apps.');

  printLine(`Log of ${app.slug}, 30 days`);
  for (const [accept, createParser] of Object.entries(FORMATS)) {
    const source = {
      url: service.address,
      path: `/api/v1/jb/apps/${app.id}/usage/`,
      headers: { authorization: `Token ${token}`, accept },
    };
    for (const line of await measureReads(environment, source, reads)) printLine(line);
    const before = await countEntries(environment, app.id);
    const received = await countItems(source, createParser());
    // The window moves on during the read: entries may leave it.
    const isComplete = received <= before && received >= (await countEntries(environment, app.id));
    printLine(
      `  ${accept}: ${received} entries, ${isComplete ? 'complete' : `INCOMPLETE, expected ${before}`}`,
    );
  }
};

const measureReads = async (
  { service, postmaster }: Environment,
  source: Source,
  reads: number,
): Promise<string[]> => {
  const timings: Timing[] = [];
  const { costs } = await measureCosts([service.pid], postmaster, async () => {
    for (let read = 0; read < reads; read += 1) timings.push(await timeRead(source));
  });
  const firstBytes = timings.map(({ firstByteMs }) => firstByteMs);
  const totalMs = median(timings.map((timing) => timing.totalMs));
  const megabytes = (timings[0]?.bytes ?? 0) / 1e6;
  const perRead = (seconds: number): string => (seconds / reads).toFixed(1);
  return [
    `  ${source.headers.accept}, ${reads} reads of ${megabytes.toFixed(0)} MB:`,
    `    first byte ${median(firstBytes).toFixed(0)} ms, at most ${Math.max(...firstBytes).toFixed(0)} ms`,
    `    total ${(totalMs / 1000).toFixed(1)} s, ${((megabytes * 1000) / totalMs).toFixed(0)} MB/s`,
    `    CPU per read: service ${perRead(costs.serverSeconds)} s, PostgreSQL ${perRead(costs.postgresSeconds)} s`,
    `    memory ${costs.initialMb.toFixed(0)} MB, peak ${costs.peakMb.toFixed(0)} MB`,
  ];
};

type Timing = { firstByteMs: number; totalMs: number; bytes: number };

const openBody = async ({ url, ...request }: Source): Promise<Readable> => {
  const { body } = await send(url, request);
  if (!body) throw new Error(`${request.path}: empty response.`);
  return Readable.fromWeb(body);
};

const timeRead = async (source: Source): Promise<Timing> => {
  const started = performance.now();
  let firstByteMs = 0;
  let bytes = 0;
  for await (const chunk of await openBody(source)) {
    firstByteMs ||= performance.now() - started;
    bytes += (chunk as Uint8Array).length; // no encoding is set
  }
  return { firstByteMs, totalMs: performance.now() - started, bytes };
};

const countEntries = async ({ database }: Environment, appId: string): Promise<number> => {
  const { rows } = await database.query<{ count: string }>(
    `select count(*) from usage_entries where app_id = $1 and occurred_at > now() - interval '30 days'`,
    [appId],
  );
  return Number(rows[0]?.count);
};

const countItems = async (source: Source, parser: Transform): Promise<number> => {
  let count = 0;
  await pipeline(await openBody(source), parser, async (items: AsyncIterable<unknown>) => {
    for await (const _ of items) count += 1;
  });
  return count;
};
