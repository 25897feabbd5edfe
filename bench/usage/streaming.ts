import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { JSONParser } from '@streamparser/json-node';
import { parse } from 'csv-parse';
import { API, median, type Reading, readThrough, request, type Source } from './answers.ts';
import type { Place } from './place.ts';
import { cpuSeconds, serverCpuSeconds, watchingMemory } from './processes.ts';
import { readSlowly } from './slow-reader.ts';

/** Measures how the log of one app is streamed: the hot one's, a million entries of 30 days. */
export const measureStreams = async (
  place: Place,
  reads: number,
  say: (line: string) => void,
): Promise<void> => {
  const { database, service, token } = place;
  const { rows: apps } = await database.query<{ id: string; slug: string }>(
    `select id, slug from apps order by created_at, id limit 1`,
  );
  const [app] = apps;
  if (!app) throw new Error('There is no app.');
  const source = { address: service.address, token };
  const path = `${API}/apps/${app.id}/usage/`;

  say(`Log of ${app.slug}, 30 days`);
  for (const form of ['application/json', 'text/csv'] as const) {
    await measureForm(place, { source, path, form, reads }, say);
    const inLog = await countInLog(place, app.id);
    const counted = form === 'text/csv' ? await countLines(source, path) : await countElements(source, path);
    // The window moves on while it is read: what has left it meanwhile may be missing.
    const isComplete = counted <= inLog && counted >= (await countInLog(place, app.id));
    say(`  ${form}: ${counted} entries, ${isComplete ? 'as many as' : `NOT ${inLog} AS`} in the log`);
  }
  await readSlowly(place, source, path, say);
};

type Reads = { source: Source; path: string; form: string; reads: number };

const measureForm = async (
  place: Place,
  { source, path, form, reads }: Reads,
  say: (line: string) => void,
): Promise<void> => {
  const before = await cpuOf(place);
  const readings: Reading[] = [];
  const { beforeMb, peakMb, growthMb } = await watchingMemory(place.service.pid, async () => {
    for (let read = 0; read < reads; read += 1) readings.push(await readThrough(source, path, form));
  });
  const after = await cpuOf(place);

  const firstBytes = readings.map(({ firstByteMs }) => firstByteMs);
  const totalMs = median(readings.map((reading) => reading.totalMs));
  const megabytes = (readings[0]?.bytes ?? 0) / 1e6;
  const perRead = (index: 0 | 1): string => ((after[index] - before[index]) / reads).toFixed(1);
  say(`  ${form}, ${reads} reads of ${megabytes.toFixed(0)} MB:`);
  say(`    first byte ${median(firstBytes).toFixed(0)} ms, at most ${Math.max(...firstBytes).toFixed(0)} ms`);
  say(`    whole ${(totalMs / 1000).toFixed(1)} s, ${((megabytes * 1000) / totalMs).toFixed(0)} MB/s`);
  say(`    CPU a read: service ${perRead(0)} s, PostgreSQL ${perRead(1)} s`);
  say(
    `    memory ${beforeMb.toFixed(0)} MB, at most ${peakMb.toFixed(0)} MB: ${growthMb.toFixed(0)} MB more`,
  );
};

const cpuOf = async ({ service, postmaster }: Place): Promise<[number, number]> => [
  await cpuSeconds(service.pid),
  postmaster === null ? Number.NaN : await serverCpuSeconds(postmaster),
];

const countInLog = async ({ database }: Place, appId: string): Promise<number> => {
  const { rows } = await database.query<{ count: string }>(
    `select count(*) from usage_entries where app_id = $1 and occurred_at > now() - interval '30 days'`,
    [appId],
  );
  return Number(rows[0]?.count);
};

/** Each element is parsed as soon as it is there; anything but JSON fails. */
const countElements = async (source: Source, path: string): Promise<number> => {
  const elements = new JSONParser({ paths: ['$.*'], keepStack: false });
  return countItems(source, path, 'application/json', elements);
};

const countLines = (source: Source, path: string): Promise<number> =>
  countItems(source, path, 'text/csv', parse({ columns: true }));

const countItems = async (source: Source, path: string, form: string, parser: Transform): Promise<number> => {
  let count = 0;
  await pipeline(await request(source, path, form), parser, async (items: AsyncIterable<unknown>) => {
    for await (const _ of items) count += 1;
  });
  return count;
};
